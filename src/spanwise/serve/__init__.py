"""The service: a model behind HTTP, with a page, limits and metrics. Its extra is `serve`."""
