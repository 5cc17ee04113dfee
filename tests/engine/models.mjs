// Small models of many architectures: the config.json that Hugging Face would have, and the metadata and tensors of the
// GGUF file that llama.cpp's converter makes of it (github.com/ggml-org/llama.cpp gguf-py/gguf/constants.py names them).

const RMS = { "attention.layer_norm_rms_epsilon": { real: 1e-6 } };
const LAYER_NORM = { "attention.layer_norm_epsilon": { real: 1e-5 } };
const VOCAB = 1024;

/** A vocabulary as SentencePiece has it: special tokens, every byte, then made-up words. Kinds: gguf-py TokenType. */
function vocabulary(size) {
  const NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6;
  const rows = Array.from({ length: size }, (_, id) => {
    if (id < 4) return [["<unk>", "<s>", "</s>", "<|endoftext|>"][id], id === 0 ? UNKNOWN : CONTROL];
    if (id < 260) return [`<0x${(id - 4).toString(16).toUpperCase().padStart(2, "0")}>`, BYTE];
    return [`w${id}`, NORMAL];
  });
  return {
    "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": rows.map(([text]) => text),
    "tokenizer.ggml.scores": rows.map((_, id) => ({ real: -id })), "tokenizer.ggml.token_type": rows.map(([, kind]) => ({ signed: kind })),
    "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0,
  };
}

/** Metadata of an architecture, its keys below its name. */
function metadata(architecture, values) {
  return {
    "general.architecture": architecture, "general.name": architecture,
    ...Object.fromEntries(Object.entries(values).map(([key, value]) => [`${architecture}.${key}`, value])),
    ...vocabulary(values.vocab_size),
  };
}

/** The dimensions that nearly all share. */
const dimensions = (c, more = {}) => ({
  block_count: c.num_hidden_layers, context_length: c.max_position_embeddings, embedding_length: c.hidden_size,
  feed_forward_length: c.intermediate_size, vocab_size: c.vocab_size, "attention.head_count": c.num_attention_heads,
  "attention.head_count_kv": c.num_key_value_heads, ...more,
});

/** Collects tensors; matrices get `type`, vectors and what the converter keeps wide are f32. */
class Tensors {
  constructor(type) {
    this.type = type;
    this.list = [];
  }
  matrix(name, ...shape) { this.list.push({ name: `${name}.weight`, shape, type: this.type }); }
  wide(name, ...shape) { this.list.push({ name: `${name}.weight`, shape, type: "f32" }); }
  /** Without ".weight", as biases and the A of state-space layers. */
  plain(name, ...shape) { this.list.push({ name, shape, type: "f32" }); }
  linear(name, inputs, outputs, bias) {
    this.matrix(name, inputs, outputs);
    if (bias) this.plain(`${name}.bias`, outputs);
  }
  norm(name, width, bias) {
    this.wide(name, width);
    if (bias) this.plain(`${name}.bias`, width);
  }
  ends(c, { tied = c.tie_word_embeddings, bias = false, norm = "output_norm" } = {}) {
    this.matrix("token_embd", c.hidden_size, c.vocab_size);
    this.norm(norm, c.hidden_size, bias);
    if (!tied) this.matrix("output", c.hidden_size, c.vocab_size);
  }
}

function headsOf(c) {
  const dim = c.head_dim ?? c.hidden_size / c.num_attention_heads;
  return { dim, query: dim * c.num_attention_heads, key: dim * c.num_key_value_heads };
}

function attention(t, block, c, { bias = false, outputBias = bias, norms = false, query = headsOf(c).query } = {}) {
  const { dim, key } = headsOf(c);
  t.linear(`${block}.attn_q`, c.hidden_size, query, bias);
  t.linear(`${block}.attn_k`, c.hidden_size, key, bias);
  t.linear(`${block}.attn_v`, c.hidden_size, key, bias);
  t.linear(`${block}.attn_output`, headsOf(c).query, c.hidden_size, outputBias);
  if (norms) {
    t.norm(`${block}.attn_q_norm`, dim);
    t.norm(`${block}.attn_k_norm`, dim);
  }
}

function gated(t, block, c, width = c.intermediate_size, suffix = "") {
  t.matrix(`${block}.ffn_gate${suffix}`, c.hidden_size, width);
  t.matrix(`${block}.ffn_up${suffix}`, c.hidden_size, width);
  t.matrix(`${block}.ffn_down${suffix}`, width, c.hidden_size);
}

function experts(t, block, c, count, width) {
  t.wide(`${block}.ffn_gate_inp`, c.hidden_size, count);
  t.matrix(`${block}.ffn_gate_exps`, c.hidden_size, width, count);
  t.matrix(`${block}.ffn_up_exps`, c.hidden_size, width, count);
  t.matrix(`${block}.ffn_down_exps`, width, c.hidden_size, count);
}

const blocks = (c) => Array.from({ length: c.num_hidden_layers }, (_, index) => [`blk.${index}`, index]);

/** Llama and those that differ in norms and biases alone. */
function llamaLike(c, t, { bias = false, norms = false, posts = false, mixture = null } = {}) {
  t.ends(c);
  for (const [block] of blocks(c)) {
    t.norm(`${block}.attn_norm`, c.hidden_size);
    attention(t, block, c, { bias, outputBias: false, norms });
    if (posts) t.norm(`${block}.post_attention_norm`, c.hidden_size);
    t.norm(`${block}.ffn_norm`, c.hidden_size);
    if (mixture) experts(t, block, c, mixture.count, mixture.width);
    else gated(t, block, c);
    if (posts) t.norm(`${block}.post_ffw_norm`, c.hidden_size);
  }
}

const lengths = (c) => ({ "attention.key_length": c.head_dim, "attention.value_length": c.head_dim });

const FAMILIES = {
  llama: (c, t) => {
    llamaLike(c, t);
    return metadata("llama", { ...dimensions(c), ...RMS });
  },
  mixtral: (c, t) => {
    llamaLike(c, t, { mixture: { count: c.num_local_experts, width: c.intermediate_size } });
    return metadata("llama", { ...dimensions(c), ...RMS, expert_count: c.num_local_experts, expert_used_count: c.num_experts_per_tok });
  },
  qwen2: (c, t) => {
    llamaLike(c, t, { bias: true });
    return metadata("qwen2", { ...dimensions(c), ...RMS });
  },
  qwen3: (c, t) => {
    llamaLike(c, t, { norms: true });
    return metadata("qwen3", { ...dimensions(c), ...RMS, ...lengths(c) });
  },
  qwen3_moe: (c, t) => {
    llamaLike(c, t, { norms: true, mixture: { count: c.num_experts, width: c.moe_intermediate_size } });
    return metadata("qwen3moe", {
      ...dimensions(c), ...RMS, ...lengths(c), expert_count: c.num_experts, expert_used_count: c.num_experts_per_tok,
      expert_feed_forward_length: c.moe_intermediate_size,
    });
  },
  gemma2: (c, t) => {
    llamaLike(c, t, { posts: true });
    return metadata("gemma2", { ...dimensions(c), ...RMS, ...lengths(c), "attention.sliding_window": c.sliding_window });
  },
  gemma3_text: (c, t) => {
    llamaLike(c, t, { norms: true, posts: true });
    return metadata("gemma3", { ...dimensions(c), ...RMS, ...lengths(c), "attention.sliding_window": c.sliding_window });
  },
  phi3: (c, t) => {
    const { dim, query, key } = headsOf(c);
    t.ends(c);
    for (const [block] of blocks(c)) {
      t.norm(`${block}.attn_norm`, c.hidden_size);
      t.matrix(`${block}.attn_qkv`, c.hidden_size, query + 2 * key);
      t.matrix(`${block}.attn_output`, query, c.hidden_size);
      t.norm(`${block}.ffn_norm`, c.hidden_size);
      t.matrix(`${block}.ffn_up`, c.hidden_size, 2 * c.intermediate_size);
      t.matrix(`${block}.ffn_down`, c.intermediate_size, c.hidden_size);
    }
    return metadata("phi3", {
      ...dimensions(c), ...RMS, "rope.dimension_count": dim,
      "rope.scaling.original_context_length": c.max_position_embeddings,
    });
  },
  gpt2: (c, t) => {
    t.ends(c, { tied: true, bias: true });
    t.matrix("position_embd", c.hidden_size, c.n_positions);
    for (const [block] of blocks(c)) {
      t.norm(`${block}.attn_norm`, c.hidden_size, true);
      t.linear(`${block}.attn_qkv`, c.hidden_size, 3 * c.hidden_size, true);
      t.linear(`${block}.attn_output`, c.hidden_size, c.hidden_size, true);
      t.norm(`${block}.ffn_norm`, c.hidden_size, true);
      t.linear(`${block}.ffn_up`, c.hidden_size, 4 * c.hidden_size, true);
      t.linear(`${block}.ffn_down`, 4 * c.hidden_size, c.hidden_size, true);
    }
    return metadata("gpt2", {
      ...dimensions({ ...c, max_position_embeddings: c.n_positions, intermediate_size: 4 * c.hidden_size }), ...LAYER_NORM,
    });
  },
  falcon: (c, t) => {
    const dim = c.hidden_size / c.num_attention_heads;
    t.ends(c, { bias: true });
    for (const [block] of blocks(c)) {
      t.norm(`${block}.attn_norm`, c.hidden_size, true);
      t.matrix(`${block}.attn_qkv`, c.hidden_size, c.hidden_size + 2 * dim);
      t.matrix(`${block}.attn_output`, c.hidden_size, c.hidden_size);
      t.matrix(`${block}.ffn_up`, c.hidden_size, 4 * c.hidden_size);
      t.matrix(`${block}.ffn_down`, 4 * c.hidden_size, c.hidden_size);
    }
    return metadata("falcon", {
      ...dimensions({ ...c, intermediate_size: 4 * c.hidden_size, num_key_value_heads: 1 }), ...LAYER_NORM,
    });
  },
  deepseek_v2: (c, t) => {
    const { num_attention_heads: heads, kv_lora_rank: latent, qk_nope_head_dim: nope, qk_rope_head_dim: rope } = c;
    t.ends(c);
    for (const [block, index] of blocks(c)) {
      t.norm(`${block}.attn_norm`, c.hidden_size);
      if (c.q_lora_rank) {
        t.matrix(`${block}.attn_q_a`, c.hidden_size, c.q_lora_rank);
        t.norm(`${block}.attn_q_a_norm`, c.q_lora_rank);
        t.matrix(`${block}.attn_q_b`, c.q_lora_rank, heads * (nope + rope));
      } else {
        t.matrix(`${block}.attn_q`, c.hidden_size, heads * (nope + rope));
      }
      t.matrix(`${block}.attn_kv_a_mqa`, c.hidden_size, latent + rope);
      t.norm(`${block}.attn_kv_a_norm`, latent);
      t.matrix(`${block}.attn_k_b`, nope, latent, heads);
      t.matrix(`${block}.attn_v_b`, latent, c.v_head_dim, heads);
      t.matrix(`${block}.attn_output`, heads * c.v_head_dim, c.hidden_size);
      t.norm(`${block}.ffn_norm`, c.hidden_size);
      if (index < c.first_k_dense_replace) {
        gated(t, block, c);
        continue;
      }
      experts(t, block, c, c.n_routed_experts, c.moe_intermediate_size);
      gated(t, block, c, c.n_shared_experts * c.moe_intermediate_size, "_shexp");
    }
    return metadata("deepseek2", {
      ...dimensions({ ...c, num_key_value_heads: 1 }), ...RMS, leading_dense_block_count: c.first_k_dense_replace,
      "attention.kv_lora_rank": latent, ...(c.q_lora_rank ? { "attention.q_lora_rank": c.q_lora_rank } : {}),
      "attention.key_length": latent + rope, "attention.value_length": latent, "attention.key_length_mla": nope + rope,
      "attention.value_length_mla": c.v_head_dim, "rope.dimension_count": rope, expert_count: c.n_routed_experts,
      expert_used_count: c.num_experts_per_tok, expert_shared_count: c.n_shared_experts,
      expert_feed_forward_length: c.moe_intermediate_size, expert_weights_scale: { real: 1 },
    });
  },
};

/** Mamba's own layer; `norms` as Jamba has them. */
function mamba(t, block, { hidden, inner, state, rank, kernel }, norms) {
  t.matrix(`${block}.ssm_in`, hidden, 2 * inner);
  t.wide(`${block}.ssm_conv1d`, kernel, inner);
  t.plain(`${block}.ssm_conv1d.bias`, inner);
  t.matrix(`${block}.ssm_x`, inner, rank + 2 * state);
  t.matrix(`${block}.ssm_dt`, rank, inner);
  t.plain(`${block}.ssm_dt.bias`, inner);
  t.plain(`${block}.ssm_a`, state, inner);
  t.plain(`${block}.ssm_d`, inner);
  t.matrix(`${block}.ssm_out`, inner, hidden);
  if (!norms) return;
  t.norm(`${block}.ssm_dt_norm`, rank);
  t.norm(`${block}.ssm_b_norm`, state);
  t.norm(`${block}.ssm_c_norm`, state);
}

const ssm = ({ inner, state, rank, kernel }, groups) => ({
  "ssm.conv_kernel": kernel, "ssm.inner_size": inner, "ssm.state_size": state, "ssm.time_step_rank": rank,
  ...(groups ? { "ssm.group_count": groups } : {}),
});

FAMILIES.mamba = (c, t) => {
  const shape = { hidden: c.hidden_size, inner: c.intermediate_size, state: c.state_size, rank: c.time_step_rank, kernel: c.conv_kernel };
  t.ends(c);
  for (const [block] of blocks(c)) {
    t.norm(`${block}.attn_norm`, c.hidden_size);
    mamba(t, block, shape, false);
  }
  const none = { ...c, max_position_embeddings: 1 << 20, intermediate_size: 0, num_attention_heads: 0, num_key_value_heads: 0 };
  return metadata("mamba", { ...dimensions(none), ...RMS, ...ssm(shape) });
};

FAMILIES.mamba2 = (c, t) => {
  const inner = c.expand * c.hidden_size, heads = inner / c.head_dim, channels = inner + 2 * c.n_groups * c.state_size;
  t.ends(c);
  for (const [block] of blocks(c)) {
    t.norm(`${block}.attn_norm`, c.hidden_size);
    t.matrix(`${block}.ssm_in`, c.hidden_size, inner + channels + heads);
    t.wide(`${block}.ssm_conv1d`, c.conv_kernel, channels);
    t.plain(`${block}.ssm_conv1d.bias`, channels);
    t.plain(`${block}.ssm_dt.bias`, heads);
    t.plain(`${block}.ssm_a`, 1, heads);
    t.plain(`${block}.ssm_d`, 1, heads);
    t.norm(`${block}.ssm_norm`, inner / c.n_groups, false);
    t.list.at(-1).shape.push(c.n_groups);
    t.matrix(`${block}.ssm_out`, inner, c.hidden_size);
  }
  const none = { ...c, max_position_embeddings: 1 << 20, intermediate_size: 0, num_attention_heads: 0, num_key_value_heads: 0 };
  return metadata("mamba2", {
    ...dimensions(none), ...RMS, ...ssm({ inner, state: c.state_size, rank: heads, kernel: c.conv_kernel }, c.n_groups),
  });
};

FAMILIES.jamba = (c, t) => {
  const shape = {
    hidden: c.hidden_size, inner: c.mamba_expand * c.hidden_size, state: c.mamba_d_state, rank: c.mamba_dt_rank, kernel: c.mamba_d_conv,
  };
  const attends = (index) => index % c.attn_layer_period === c.attn_layer_offset;
  t.ends(c);
  for (const [block, index] of blocks(c)) {
    t.norm(`${block}.attn_norm`, c.hidden_size);
    if (attends(index)) attention(t, block, c);
    else mamba(t, block, shape, true);
    t.norm(`${block}.ffn_norm`, c.hidden_size);
    if (index % c.expert_layer_period === c.expert_layer_offset) experts(t, block, c, c.num_experts, c.intermediate_size);
    else gated(t, block, c);
  }
  const kv = blocks(c).map(([, index]) => (attends(index) ? c.num_key_value_heads : 0));
  return metadata("jamba", {
    ...dimensions(c, { "attention.head_count_kv": kv }), ...RMS, ...ssm(shape), expert_count: c.num_experts,
    expert_used_count: c.num_experts_per_tok,
  });
};

FAMILIES.lfm2 = (c, t) => {
  t.ends(c, { norm: "token_embd_norm" });
  for (const [block, index] of blocks(c)) {
    t.norm(`${block}.attn_norm`, c.hidden_size);
    if (c.layer_types[index] === "full_attention") {
      attention(t, block, c, { norms: true });
    } else {
      t.wide(`${block}.shortconv.conv`, c.conv_L_cache, c.hidden_size);
      t.matrix(`${block}.shortconv.in_proj`, c.hidden_size, 3 * c.hidden_size);
      t.matrix(`${block}.shortconv.out_proj`, c.hidden_size, c.hidden_size);
    }
    t.norm(`${block}.ffn_norm`, c.hidden_size);
    gated(t, block, c);
  }
  const kv = c.layer_types.map((kind) => (kind === "full_attention" ? c.num_key_value_heads : 0));
  return metadata("lfm2", { ...dimensions(c, { "attention.head_count_kv": kv }), ...RMS, "shortconv.l_cache": c.conv_L_cache });
};

const SMALL = {
  hidden_size: 512, num_hidden_layers: 4, num_attention_heads: 8, num_key_value_heads: 2, intermediate_size: 1536,
  vocab_size: VOCAB, max_position_embeddings: 8192, tie_word_embeddings: false,
};

/** Name, architecture class and config of each. */
const CONFIGS = [
  ["LlamaForCausalLM", { model_type: "llama", ...SMALL }],
  ["MixtralForCausalLM", { model_type: "mixtral", ...SMALL, num_local_experts: 4, num_experts_per_tok: 2, sliding_window: null }],
  ["Qwen2ForCausalLM", { model_type: "qwen2", ...SMALL, tie_word_embeddings: true }],
  ["Qwen3ForCausalLM", { model_type: "qwen3", ...SMALL, head_dim: 128 }],
  ["Qwen3MoeForCausalLM", {
    model_type: "qwen3_moe", ...SMALL, head_dim: 128, num_experts: 16, num_experts_per_tok: 4, moe_intermediate_size: 256,
    decoder_sparse_step: 1, mlp_only_layers: [],
  }],
  ["Gemma2ForCausalLM", { model_type: "gemma2", ...SMALL, head_dim: 128, sliding_window: 512, tie_word_embeddings: true, num_hidden_layers: 6 }],
  ["Gemma3ForCausalLM", {
    model_type: "gemma3_text", ...SMALL, head_dim: 128, sliding_window: 512, sliding_window_pattern: 6, tie_word_embeddings: true,
    num_hidden_layers: 12,
  }],
  ["Phi3ForCausalLM", { model_type: "phi3", ...SMALL, num_key_value_heads: 8 }],
  ["GPT2LMHeadModel", {
    model_type: "gpt2", hidden_size: 512, n_embd: 512, num_hidden_layers: 4, n_layer: 4, num_attention_heads: 8, n_head: 8,
    num_key_value_heads: 8, n_positions: 2048, vocab_size: VOCAB, tie_word_embeddings: true,
  }],
  ["FalconForCausalLM", {
    model_type: "falcon", hidden_size: 512, num_hidden_layers: 4, num_attention_heads: 8, num_kv_heads: 8, vocab_size: VOCAB,
    multi_query: true, new_decoder_architecture: false, parallel_attn: true, bias: false, alibi: false, max_position_embeddings: 8192,
    tie_word_embeddings: true,
  }],
  ["DeepseekV2ForCausalLM", {
    model_type: "deepseek_v2", ...SMALL, num_key_value_heads: 8, q_lora_rank: 256, kv_lora_rank: 256, qk_nope_head_dim: 64,
    qk_rope_head_dim: 32, v_head_dim: 64, first_k_dense_replace: 1, moe_layer_freq: 1, n_routed_experts: 8, n_shared_experts: 2,
    num_experts_per_tok: 2, moe_intermediate_size: 256,
  }],
  ["MambaForCausalLM", {
    model_type: "mamba", hidden_size: 512, num_hidden_layers: 4, intermediate_size: 1024, state_size: 16, conv_kernel: 4, expand: 2,
    time_step_rank: 32, use_bias: false, use_conv_bias: true, vocab_size: VOCAB, tie_word_embeddings: true,
  }],
  ["Mamba2ForCausalLM", {
    model_type: "mamba2", hidden_size: 512, num_hidden_layers: 4, state_size: 64, conv_kernel: 4, expand: 2, head_dim: 64, num_heads: 16,
    n_groups: 2, use_bias: false, use_conv_bias: true, vocab_size: VOCAB, tie_word_embeddings: true,
  }],
  ["JambaForCausalLM", {
    model_type: "jamba", ...SMALL, num_hidden_layers: 8, num_experts: 4, num_experts_per_tok: 2, expert_layer_period: 2,
    expert_layer_offset: 1, attn_layer_period: 8, attn_layer_offset: 4, mamba_d_state: 16, mamba_d_conv: 4, mamba_expand: 2,
    mamba_dt_rank: 32,
  }],
  ["Lfm2ForCausalLM", {
    model_type: "lfm2", ...SMALL, num_hidden_layers: 6, conv_L_cache: 3, block_auto_adjust_ff_dim: false, tie_word_embeddings: true,
    layer_types: ["conv", "conv", "full_attention", "conv", "conv", "full_attention"],
  }],
];

/** The file of a config with matrices of `type`. */
export function fileOf(config, type = "f16") {
  const tensors = new Tensors(type);
  const values = FAMILIES[config.model_type](config, tensors);
  return { metadata: values, tensors: tensors.list };
}

export const MODELS = CONFIGS.map(([architecture, config]) => ({
  name: config.model_type, config: { architectures: [architecture], ...config },
}));
