"""Servers, models and folders that mean harm, from the outside."""
