/* Shapes of the data that flows through the page. docs/report.md is the contract behind Report. */

export type Phase = string;
export type Scalar = string | number | boolean | null;
export type Value = Scalar | Value[] | { [key: string]: Value };
export type Job = { [key: string]: Value };
/** Dotted path to its new value; undefined removes the field, so that its default holds again. */
export type Changes = { [path: string]: Value | undefined };

export interface Diagnostic {
  code: string;
  path: string;
  args: { [name: string]: string | number };
}

export interface Item {
  id: string;
  bytes: number;
  low_bytes: number;
  high_bytes: number;
  phases: Phase[];
  formula_id: string;
  /** Both come later than the figures (web/texts.js). */
  formula?: string;
  terms: { [symbol: string]: number };
  source?: string;
}

export interface Stage {
  stage: number;
  stages: number;
  gpus: number;
  first_gpu: number;
  peak_phase: Phase;
  /** All that is alive in each phase, as the device sees it. */
  phases: { [phase: string]: { peak_bytes: number } };
  peak_bytes: number;
  low_bytes: number;
  high_bytes: number;
  items: Item[];
}

export interface Memory {
  peak_bytes: number;
  low_bytes: number;
  high_bytes: number;
  /** Absent on a host of unknown size, like usable_bytes. */
  capacity_bytes?: number;
  usable_bytes?: number;
  meters?: { [meter: string]: number };
  host_bytes?: number;
  /** Inference: of one copy of the model. */
  weights?: { device_bytes?: number; host_bytes?: number };
  saved_bytes?: number;
  saved?: { operator: string; bytes: number }[];
  phases: { [phase: string]: { peak_bytes: number } };
  stages: Stage[];
}

export interface Step {
  step: number;
  id: string;
  rule: string;
  constraint: string;
  numbers: { [name: string]: number };
  texts: { [name: string]: string };
}

export interface Knob {
  id: string;
  set: { [path: string]: Value };
  from: { [path: string]: Value };
  saves_bytes: number;
  peak_bytes_after: number;
  verdict_after: Verdict;
  cost: { kind: string; low?: number; high?: number; source?: string };
}

export type Verdict = 'fits' | 'tight' | 'no' | 'unknown';

export interface Report {
  gpuplan: number;
  op: string;
  version: string;
  errors?: Diagnostic[];
  warnings?: Diagnostic[];
  verdict: Verdict;
  binding: {
    item: string; stage: number; phase: Phase; bytes: number;
    peak_bytes: number; usable_bytes?: number; over_bytes?: number; spare_bytes?: number;
  };
  solved?: { [field: string]: string | number };
  fails_at?: { [field: string]: number };
  params: { total: number; active: number; trainable: number; adapter?: number; stated?: number };
  model: { [key: string]: string | number | boolean };
  hardware: {
    gpu: string; count: number; per_node: number;
    capacity_bytes?: number; usable_bytes?: number; nominal_gb?: number; source?: string;
  };
  parallel: { [key: string]: string | number | boolean };
  memory: Memory;
  kv?: { [key: string]: number };
  time?: { [key: string]: any } & { why?: { [key: string]: Reason }; curve?: { [name: string]: number }[] };
  waterfall?: { stage: number; rows: { id: string; bytes?: number; left_bytes: number }[]; tokens: number; sequences: number };
  steps: Step[];
  advice: Knob[];
  assumptions: Diagnostic[];
  link: string;
}

export interface Field {
  path: string;
  kind: 'whole' | 'real' | 'switch' | 'choice' | 'open' | 'text';
  min?: number;
  max?: number;
  auto: boolean;
  max_allowed: boolean;
  tasks: string[];
  default?: string | number | boolean | null;
  unit?: string;
  choices?: string[];
}

export interface DetailsScript {
  createImport: typeof import('./views/import.js').createImport;
  createWhyPanel: typeof import('./views/why.js').createWhyPanel;
  explainedAnswer: typeof import('./texts.js').explainedAnswer;
}

export interface Engine {
  /** Loads what the planner of the first view leaves out. Until then any of the others may throw PartMissing. */
  complete(): Promise<void>;
  plan(job: Job): Report;
  /** The numbers alone. */
  brief(job: Job): Report;
  rank(job: Job, kind: 'gpus' | 'instances' | 'models'): RankRow[];
  link(job: Job): string;
  decode(link: string): { job?: Job; link?: string; errors?: Diagnostic[]; warnings?: Diagnostic[] };
  fields(): Field[];
  models(filter: string): { [key: string]: string | number | boolean }[];
  links(filter: string): { [key: string]: string | number }[];
  gpus(filter: string): { [key: string]: string | number | boolean }[];
  import(parts: { name: string; bytes: number; size: number | null }[], files: Uint8Array[], name?: string): Promise<ImportReport>;
}

/** A way to run the job; without a verdict it cannot be planned there. */
export interface RankRow {
  /** Absent among models. */
  gpu?: string;
  model?: string;
  params?: number;
  trained_context?: number;
  count?: number;
  verdict?: Verdict;
  errors?: Diagnostic[];
  peak_bytes?: number;
  usable_bytes?: number;
  max_context?: number;
  max_concurrency?: number;
  tokens_per_s?: number;
  tokens_per_s_low?: number;
  tokens_per_s_high?: number;
  sequences?: number;
  within_targets?: number;
  set?: Changes;
  type?: string;
  provider?: string;
  instances?: number;
  usd_per_hour?: number;
  usd_per_million_tokens?: number;
  usd_per_million_tokens_low?: number;
  usd_per_million_tokens_high?: number;
  usd_per_user_hour?: number;
  date?: string;
}

export interface ImportReport {
  errors?: Diagnostic[];
  warnings?: Diagnostic[];
  /** Parts that must come back with more bytes; then there is nothing else. */
  need?: { part: number; bytes: number }[];
  import?: {
    kind: string; name?: string; architecture?: string; format: string; method?: string;
    tensors?: number; params?: number; computed_params?: number; prediction_params?: number;
    bytes?: number;
    types: { type: string; tensors: number; params: number; bytes: number }[];
    groups: { group: string; tensors: number; params: number; bytes: number }[];
    ignored: string[];
  };
  job?: { model: { [key: string]: Value }; infer: { [key: string]: Value } };
}

export interface Translator {
  lang: string;
  /** The sentence of a key with its placeholders filled. */
  t(key: string, args?: { [name: string]: string | number }): string;
  has(key: string): boolean;
  /** The pieces of a sentence: texts, and the names of its placeholders. */
  parts(key: string): ({ text: string } | { name: string })[];
  /** The words of a code or value when they exist, else the value itself. */
  word(key: string, fallback: string): string;
}

/** A figure of time with the formula that gave it. */
export interface Reason {
  value: number;
  formula_id: string;
  /** Both come later than the figures (web/texts.js). */
  formula?: string;
  terms: { [symbol: string]: number };
  source?: string;
}

export interface Format {
  unit: 'GiB' | 'GB';
  number(value: number, digits?: number): string;
  percent(fraction: number): string;
  bytes(value: number, digits?: number): string;
  /** Signed, with a true minus sign. */
  delta(value: number): string;
  /** The number alone, in the page's unit. */
  amount(value: number, digits?: number): string;
  count(value: number): string;
  exact(value: number): string;
  ratio(value: number): string;
  /** A time: "85 ms", "1.4 s". */
  seconds(value: number): string;
}

/** What every view gets: words, formats, the report shown and whether it belongs to the job as typed. */
export interface Context {
  report: Report;
  other: Report | null;
  /** The job the report answers. */
  job: Job;
  ledger: 'detailed' | 'textbook';
  words: Translator;
  format: Format;
  stale: boolean;
  /** The planner that answers the job did not come. */
  missing: boolean;
  basis: import('./planner.js').Answer['basis'];
  errors: Diagnostic[];
  warnings: Diagnostic[];
  /** The value in force: given, solved or assumed. */
  value(path: string): Value | undefined;
  /** What the job itself says. */
  given(path: string): Value | undefined;
  origin(path: string): { code: string; args: { [name: string]: string | number } };
  field(path: string): Field | undefined;
}
