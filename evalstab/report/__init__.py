"""From a scored series to people: one ``Report`` object, several renderers that only lay out."""
