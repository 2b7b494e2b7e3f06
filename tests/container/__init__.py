"""The image without a container engine: the Dockerfile's steps, and its entry point, in a clean root of Debian's.

dockerfile.py    Dockerfile and .dockerignore → instructions, files
root.py          a clean root for the base image (debootstrap), commands inside it in namespaces of their own
image.py         instructions → an image: its root and its configuration; containers of it
"""
