"""The edges: no decisions here, only arguments in and text out."""
