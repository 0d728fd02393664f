"""The neural classifiers' steps from rows of E to scores of classes. Needs torch."""
