"""Makes a model of language_models.py, and inputs for it."""

from language_models import IMAGE, SAMPLES, TOKENS, TRANSFORMERS, WORDS


def _inputs(kind, batch):
    """Returns what forward is given by name, the batch on axis 0 of each."""
    import torch

    words = torch.randint(2, WORDS, (batch, TOKENS))
    image = torch.randn(batch, 3, IMAGE, IMAGE)
    if kind == "words":
        return {"input_ids": words, "attention_mask": torch.ones_like(words)}
    if kind == "pairs":
        return {
            "input_ids": words,
            "decoder_input_ids": words[:, : TOKENS // 2].clone(),
        }
    if kind == "image":
        return {"pixel_values": image}
    if kind == "clip":
        return {"pixel_values": image.unsqueeze(1).repeat(1, 4, 1, 1, 1)}
    if kind == "spectrum":
        return {"input_values": torch.randn(batch, 64, 32)}
    if kind == "sound":
        return {"input_values": torch.randn(batch, SAMPLES)}
    if kind == "speech":
        return {
            "input_features": torch.randn(batch, 16, 64),
            "decoder_input_ids": words[:, : TOKENS // 2].clone(),
        }
    assert kind == "image and words", kind
    return {"input_ids": words, "pixel_values": image}


def make_transformer(name, batch):
    """Returns (model, inputs) in float32; the batch is axis 0 of each input."""
    import transformers

    from flat_outputs import FlatOutputs

    kind, settings = TRANSFORMERS[name]
    config = transformers.AutoConfig.for_model(name, **settings)
    model = transformers.AutoModel.from_config(config)
    options = {"return_dict": True}
    # Caches of keys, values and states are for generating, and no tensors.
    if getattr(config, "use_cache", False):
        options["use_cache"] = False
    inputs = _inputs(kind, batch)

    def call(model, *tensors):
        return model(**dict(zip(inputs, tensors)), **options)

    return FlatOutputs(model, call), tuple(inputs.values())
