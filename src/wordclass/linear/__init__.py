"""Linear support vector machines, one against the rest: many classes, many values of C, quickly."""
