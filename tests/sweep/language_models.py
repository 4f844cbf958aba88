"""The architectures of transformers that the sweep knows.

Each is made by its configuration class, with few and narrow layers: what they
compute is the same, and nothing is downloaded.
"""

# Sizes of inputs (make_transformer.py): different words, words of a text, pixels
# of an image's side, and samples of sound, which are one second.
WORDS, TOKENS, IMAGE, SAMPLES = 512, 32, 64, 16000
# Sizes of the small models, by the names that most configurations use.
_WIDTH, _LAYERS, _HEADS, _HIDDEN = 64, 2, 4, 128
_USUAL = {
    "hidden_size": _WIDTH,
    "num_hidden_layers": _LAYERS,
    "num_attention_heads": _HEADS,
    "intermediate_size": _HIDDEN,
    "vocab_size": WORDS,
}
_SHARED_HEADS = dict(_USUAL, num_key_value_heads=2, pad_token_id=0)
_WIDE_HEADS = dict(_SHARED_HEADS, head_dim=16)
_GPT = {"n_embd": _WIDTH, "n_layer": _LAYERS, "n_head": _HEADS, "vocab_size": WORDS}
_EXPERTS = dict(_SHARED_HEADS, num_experts_per_tok=2)
_BOTH_SIDES = {
    "d_model": _WIDTH,
    "encoder_layers": _LAYERS,
    "decoder_layers": _LAYERS,
    "encoder_attention_heads": _HEADS,
    "decoder_attention_heads": _HEADS,
    "encoder_ffn_dim": _HIDDEN,
    "decoder_ffn_dim": _HIDDEN,
    "vocab_size": WORDS,
}
_T5 = {
    "d_model": _WIDTH,
    "d_kv": 16,
    "d_ff": _HIDDEN,
    "num_layers": _LAYERS,
    "num_decoder_layers": _LAYERS,
    "num_heads": _HEADS,
    "vocab_size": WORDS,
}
_IMAGES = {
    "hidden_size": _WIDTH,
    "num_hidden_layers": _LAYERS,
    "num_attention_heads": _HEADS,
    "intermediate_size": _HIDDEN,
    "image_size": IMAGE,
}
_CLIP = {
    "text_config": dict(_USUAL, max_position_embeddings=TOKENS, projection_dim=32),
    "vision_config": dict(_IMAGES, patch_size=16, projection_dim=32),
    "projection_dim": 32,
}
_SOUND = dict(
    _USUAL,
    conv_dim=(32, 32, 32),
    conv_stride=(5, 4, 4),
    conv_kernel=(10, 4, 4),
    num_feat_extract_layers=3,
    num_conv_pos_embeddings=16,
    num_conv_pos_embedding_groups=4,
)
_MAMBA = {
    "hidden_size": _WIDTH,
    "num_hidden_layers": _LAYERS,
    "vocab_size": WORDS,
    "state_size": 8,
}

# model type -> (inputs, what the configuration is given)
TRANSFORMERS = {
    # Encoders.
    "albert": ("words", dict(_USUAL, embedding_size=32)),
    "bert": ("words", _USUAL),
    "big_bird": ("words", dict(_USUAL, attention_type="original_full")),
    "camembert": ("words", _USUAL),
    "canine": ("words", _USUAL),
    "convbert": ("words", dict(_USUAL, embedding_size=32)),
    "deberta": ("words", _USUAL),
    "deberta-v2": ("words", _USUAL),
    "distilbert": (
        "words",
        {
            "dim": _WIDTH,
            "n_layers": _LAYERS,
            "n_heads": _HEADS,
            "hidden_dim": _HIDDEN,
            "vocab_size": WORDS,
        },
    ),
    "electra": ("words", dict(_USUAL, embedding_size=32)),
    "ernie": ("words", _USUAL),
    "esm": ("words", dict(_USUAL, pad_token_id=1, position_embedding_type="rotary")),
    "eurobert": ("words", _SHARED_HEADS),
    "fnet": ("words", _USUAL),
    "funnel": (
        "words",
        {
            "d_model": _WIDTH,
            "n_head": _HEADS,
            "d_head": 16,
            "d_inner": _HIDDEN,
            "block_sizes": [1, 1],
            "block_repeats": [1, 1],
            "num_decoder_layers": 1,
            "vocab_size": WORDS,
        },
    ),
    "ibert": ("words", _USUAL),
    "layoutlm": ("words", _USUAL),
    "longformer": ("words", dict(_USUAL, attention_window=8)),
    "megatron-bert": ("words", _USUAL),
    "mobilebert": (
        "words",
        dict(_USUAL, embedding_size=32, true_hidden_size=32, intra_bottleneck_size=32),
    ),
    "modernbert": ("words", dict(_USUAL, pad_token_id=0, reference_compile=False)),
    "mpnet": ("words", _USUAL),
    "nystromformer": (
        "words",
        dict(_USUAL, segment_means_seq_len=TOKENS, num_landmarks=TOKENS),
    ),
    "rembert": ("words", dict(_USUAL, input_embedding_size=32)),
    "roberta": ("words", _USUAL),
    "roformer": ("words", _USUAL),
    "squeezebert": ("words", dict(_USUAL, embedding_size=_WIDTH)),
    "xlm": (
        "words",
        {
            "emb_dim": _WIDTH,
            "n_layers": _LAYERS,
            "n_heads": _HEADS,
            "vocab_size": WORDS,
        },
    ),
    "xlm-roberta": ("words", _USUAL),
    "xlnet": (
        "words",
        {
            "d_model": _WIDTH,
            "n_layer": _LAYERS,
            "n_head": _HEADS,
            "d_inner": _HIDDEN,
            "vocab_size": WORDS,
        },
    ),
    # Decoders.
    "biogpt": ("words", _USUAL),
    "bloom": (
        "words",
        {
            "hidden_size": _WIDTH,
            "n_layer": _LAYERS,
            "n_head": _HEADS,
            "vocab_size": WORDS,
        },
    ),
    "codegen": ("words", dict(_GPT, rotary_dim=8)),
    "cohere": ("words", _SHARED_HEADS),
    "ctrl": ("words", dict(_GPT, dff=_HIDDEN)),
    "exaone4": ("words", _SHARED_HEADS),
    "falcon": ("words", _USUAL),
    "gemma": ("words", _WIDE_HEADS),
    "gemma2": ("words", _WIDE_HEADS),
    "gemma3_text": ("words", _WIDE_HEADS),
    "glm": ("words", _WIDE_HEADS),
    "gpt2": ("words", _GPT),
    "gpt_bigcode": ("words", _GPT),
    "gpt_neo": (
        "words",
        {
            "hidden_size": _WIDTH,
            "num_layers": _LAYERS,
            "num_heads": _HEADS,
            "attention_types": [[["global", "local"], 1]],
            "vocab_size": WORDS,
        },
    ),
    "gpt_neox": ("words", _USUAL),
    "gptj": ("words", dict(_GPT, rotary_dim=8)),
    "granite": ("words", _SHARED_HEADS),
    "llama": ("words", _SHARED_HEADS),
    "mistral": ("words", _SHARED_HEADS),
    "mpt": (
        "words",
        {
            "d_model": _WIDTH,
            "n_layers": _LAYERS,
            "n_heads": _HEADS,
            "vocab_size": WORDS,
        },
    ),
    "nemotron": ("words", _SHARED_HEADS),
    "olmo": ("words", _SHARED_HEADS),
    "olmo2": ("words", _SHARED_HEADS),
    "opt": (
        "words",
        {
            "hidden_size": _WIDTH,
            "num_hidden_layers": _LAYERS,
            "num_attention_heads": _HEADS,
            "ffn_dim": _HIDDEN,
            "word_embed_proj_dim": _WIDTH,
            "vocab_size": WORDS,
        },
    ),
    "persimmon": ("words", _USUAL),
    "phi": ("words", _SHARED_HEADS),
    "phi3": ("words", _SHARED_HEADS),
    "qwen2": ("words", _SHARED_HEADS),
    "qwen3": ("words", _WIDE_HEADS),
    "smollm3": ("words", _SHARED_HEADS),
    "stablelm": ("words", _SHARED_HEADS),
    "starcoder2": ("words", _SHARED_HEADS),
    # Mixtures of experts.
    "deepseek_v3": (
        "words",
        dict(
            _EXPERTS,
            num_key_value_heads=_HEADS,
            n_routed_experts=4,
            n_group=2,
            topk_group=1,
            kv_lora_rank=16,
            q_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=8,
            v_head_dim=16,
            moe_intermediate_size=32,
            first_k_dense_replace=1,
        ),
    ),
    "gpt_oss": ("words", dict(_EXPERTS, head_dim=16, num_local_experts=4)),
    "granitemoe": ("words", dict(_EXPERTS, num_local_experts=4)),
    "mixtral": ("words", dict(_EXPERTS, num_local_experts=4)),
    "olmoe": ("words", dict(_EXPERTS, num_experts=4)),
    "phimoe": ("words", dict(_EXPERTS, num_local_experts=4)),
    "qwen2_moe": (
        "words",
        dict(
            _EXPERTS,
            num_experts=4,
            moe_intermediate_size=32,
            shared_expert_intermediate_size=32,
        ),
    ),
    "qwen3_moe": (
        "words",
        dict(_EXPERTS, head_dim=16, num_experts=4, moe_intermediate_size=32),
    ),
    # State spaces and recurrences.
    "falcon_mamba": ("words", _MAMBA),
    "lfm2": ("words", dict(_SHARED_HEADS, layer_types=["conv", "full_attention"])),
    "mamba": ("words", _MAMBA),
    "mamba2": (
        "words",
        dict(_MAMBA, num_heads=8, head_dim=16, n_groups=1, chunk_size=16),
    ),
    "recurrent_gemma": (
        "words",
        dict(_SHARED_HEADS, lru_width=_WIDTH, block_types=["recurrent", "attention"]),
    ),
    "rwkv": (
        "words",
        {
            "hidden_size": _WIDTH,
            "num_hidden_layers": _LAYERS,
            "attention_hidden_size": _WIDTH,
            "vocab_size": WORDS,
        },
    ),
    # Encoders with decoders.
    "bart": ("pairs", _BOTH_SIDES),
    "blenderbot": ("pairs", _BOTH_SIDES),
    "led": ("pairs", dict(_BOTH_SIDES, attention_window=8)),
    "longt5": ("pairs", _T5),
    "m2m_100": ("pairs", _BOTH_SIDES),
    "marian": ("pairs", dict(_BOTH_SIDES, pad_token_id=0, decoder_start_token_id=0)),
    "mbart": ("pairs", _BOTH_SIDES),
    "mt5": ("pairs", _T5),
    "pegasus": ("pairs", _BOTH_SIDES),
    "prophetnet": (
        "pairs",
        {
            "hidden_size": _WIDTH,
            "num_encoder_layers": _LAYERS,
            "num_decoder_layers": _LAYERS,
            "num_encoder_attention_heads": _HEADS,
            "num_decoder_attention_heads": _HEADS,
            "encoder_ffn_dim": _HIDDEN,
            "decoder_ffn_dim": _HIDDEN,
            "vocab_size": WORDS,
        },
    ),
    "switch_transformers": (
        "pairs",
        dict(
            _T5, num_experts=4, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1
        ),
    ),
    "t5": ("pairs", _T5),
    "umt5": ("pairs", _T5),
    # Images.
    "beit": ("image", _IMAGES),
    "bit": (
        "image",
        {
            "embedding_size": 16,
            "hidden_sizes": [16, 32],
            "depths": [1, 1],
            "num_groups": 4,
        },
    ),
    "clip_vision_model": ("image", dict(_IMAGES, patch_size=16)),
    "convnext": (
        "image",
        {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    ),
    "convnextv2": (
        "image",
        {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    ),
    "cvt": (
        "image",
        {"embed_dim": [16, 32, 64], "depth": [1, 2, 3], "num_heads": [1, 2, 4]},
    ),
    "deit": ("image", _IMAGES),
    "dinov2": ("image", dict(_IMAGES, patch_size=16)),
    "dinov3_vit": ("image", dict(_IMAGES, patch_size=16)),
    "dpt": ("image", dict(_IMAGES, is_hybrid=False, backbone_out_indices=[0, 1, 1, 1])),
    "focalnet": (
        "image",
        {
            "image_size": IMAGE,
            "embed_dim": 16,
            "depths": [1, 1],
            "hidden_sizes": [16, 32],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
        },
    ),
    "hiera": (
        "image",
        {
            "image_size": [IMAGE, IMAGE],
            "embed_dim": 16,
            "depths": [1, 1, 1],
            "num_heads": [1, 2, 4],
            "query_stride": [2, 2],
            "num_query_pool": 2,
            "masked_unit_size": [4, 4],
        },
    ),
    "ijepa": ("image", _IMAGES),
    "levit": (
        "image",
        {
            "image_size": IMAGE,
            "hidden_sizes": [32, 64, 96],
            "num_attention_heads": [2, 2, 2],
            "depths": [1, 1, 1],
            "key_dim": [8, 8, 8],
        },
    ),
    "mobilenet_v1": ("image", {"image_size": IMAGE, "depth_multiplier": 0.25}),
    "mobilenet_v2": ("image", {"image_size": IMAGE, "depth_multiplier": 0.25}),
    "mobilevit": (
        "image",
        {
            "image_size": IMAGE,
            "hidden_sizes": [32, 48, 64],
            "neck_hidden_sizes": [8, 16, 16, 24, 32, 40, 48],
        },
    ),
    "poolformer": ("image", {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]}),
    "pvt": (
        "image",
        {
            "image_size": IMAGE,
            "hidden_sizes": [16, 32, 48, 64],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
        },
    ),
    "regnet": (
        "image",
        {
            "embedding_size": 16,
            "hidden_sizes": [16, 32],
            "depths": [1, 1],
            "groups_width": 8,
        },
    ),
    "resnet": (
        "image",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]},
    ),
    "segformer": (
        "image",
        {
            "hidden_sizes": [16, 32, 48, 64],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
        },
    ),
    "siglip_vision_model": ("image", dict(_IMAGES, patch_size=16)),
    "swin": (
        "image",
        {
            "image_size": IMAGE,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
    ),
    "swinv2": (
        "image",
        {
            "image_size": IMAGE,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
    ),
    "timesformer": ("clip", dict(_IMAGES, num_frames=4, patch_size=16)),
    "videomae": ("clip", dict(_IMAGES, num_frames=4, patch_size=16)),
    "vit": ("image", _IMAGES),
    "vit_msn": ("image", _IMAGES),
    "yolos": (
        "image",
        dict(_IMAGES, image_size=[IMAGE, IMAGE], num_detection_tokens=8),
    ),
    # Sound.
    "audio-spectrogram-transformer": (
        "spectrum",
        dict(_USUAL, max_length=64, num_mel_bins=32),
    ),
    "hubert": ("sound", _SOUND),
    "sew": ("sound", dict(_SOUND, squeeze_factor=2)),
    "unispeech": ("sound", _SOUND),
    "wav2vec2": ("sound", _SOUND),
    "wav2vec2-conformer": ("sound", _SOUND),
    "wavlm": ("sound", _SOUND),
    "whisper": (
        "speech",
        dict(
            _BOTH_SIDES,
            num_mel_bins=16,
            max_source_positions=32,
            pad_token_id=0,
            decoder_start_token_id=1,
        ),
    ),
    # Images with text.
    "clip": ("image and words", _CLIP),
    "siglip": (
        "image and words",
        {"text_config": _CLIP["text_config"], "vision_config": _CLIP["vision_config"]},
    ),
}
