"""From rows of E to scores of classes: the steps of the neural classifiers. Needs torch."""
