"""What the environment variables of the GPU stack say to the components that read them.

Grammars (how each parser reads a text), conditions (when variables, GPUs and versions do not go together), the lint
over both, the sets that guides give, and TunableOp's own look. Pure: facts and the tables of flags go in.
"""
