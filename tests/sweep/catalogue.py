"""The models that the sweep can make, by name: LIBRARY/MODEL.

Those that it knows are in names(); timm's others can be asked for by name.
"""

import re

import language_models
import make_transformer
import vision_models

_LIBRARIES = {
    "torchvision": (vision_models.TORCHVISION, vision_models.make_torchvision),
    "timm": (vision_models.TIMM, vision_models.make_timm),
    "transformers": (language_models.TRANSFORMERS, make_transformer.make_transformer),
}


def names():
    """The names of all models, in a fixed order. Imports no library."""
    return [
        f"{library}/{model}"
        for library, (models, _) in _LIBRARIES.items()
        for model in models
    ]


def can_be_named(name):
    """Whether this may be the name of a model that is not in names()."""
    library, _, model = name.partition("/")
    return library == "timm" and re.fullmatch(r"[\w.]+", model) is not None


def make(name, batch):
    """Returns (model, inputs): a torch module in float32 and a tuple of tensors.

    Axis 0 of each input is the batch. Raises what the library raises when it
    can't make the model, and KeyError for a name that is neither in names()
    nor can be named.
    """
    library, _, model = name.partition("/")
    models, maker = _LIBRARIES[library]
    if model not in models and not can_be_named(name):
        raise KeyError(name)
    return maker(model, batch)
