"""Models behind HTTP. Needs starlette and uvicorn: `pip install 'wordclass[serve]'`."""
