"""From scores to labels: thresholds, calibration, prior shift, measures, explanations."""
