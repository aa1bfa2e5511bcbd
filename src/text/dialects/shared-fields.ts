import * as v from 'valibot';
import { openChoiceBy, openObject, textOrList, wordOrObject } from '../../schema/choice.ts';
import { integer, number } from '../../schema/fields.ts';
import { isObject } from '../../schema/untrusted.ts';
import { type NeutralValues, type Shape, schemasOf } from './field-table.ts';
import {
  advice,
  content,
  empty,
  hint,
  meaning,
  named,
  native,
  nativeHint,
  untranslated,
  values,
} from './fields.ts';
import { feature } from './inspection.ts';

// Fields that requests of several formats have.

export const text = v.string();

export const optionalText = v.nullish(text);

/** An object of a kind that only the provider knows. */
export const otherKind = openObject({ type: text });

/** A text, or a list of parts of the given types and of others. */
export const textOrParts = <const Parts extends Readonly<Record<string, Shape>>>(parts: Parts) =>
  textOrList(
    'a text or a list of parts',
    v.array(openChoiceBy('type', schemasOf(parts), otherKind)),
  );

/** Only the model itself calls a tool, which is the default. */
export const directCaller: NeutralValues = {
  words: 'direct',
  test: (value) =>
    isObject(value)
      ? value['type'] === 'direct'
      : Array.isArray(value) && value.every((one) => one === 'direct'),
};

/** Tools that the provider runs, in OpenAI's formats. */
export const HOSTED = {
  code_interpreter: feature('code_interpreter'),
  computer_use_preview: feature('computer_use'),
  file_search: feature('file_search'),
  image_generation: feature('image_generation'),
  mcp: feature('mcp'),
  web_search: feature('web_search'),
  web_search_preview: feature('web_search'),
} as const;

/** The kinds of a choice of tools that OpenAI's formats have. @param named a choice of one function */
export const toolChoiceBy = <const Named extends v.GenericSchema>(named: Named) =>
  wordOrObject(['auto', 'none', 'required'], openChoiceBy('type', { function: named }, otherKind));

/** A text that is not empty. */
export const nonEmptyText = (expects: string) =>
  v.pipe(v.string(), v.nonEmpty(), v.metadata({ expects }));

export const functionName = nonEmptyText("the function's name");

/** What describes a function that the model may call. */
export const FUNCTION = content({
  name: functionName,
  description: optionalText,
  parameters: v.nullish(openObject({})),
  strict: v.nullish(v.boolean()),
});

/** A list with one object at least. @param expects what it is called in messages */
export const someOf = <const Item extends v.GenericSchema>(item: Item, expects: string) =>
  v.pipe(v.array(item), v.nonEmpty(), v.metadata({ expects }));

/** A list of texts, of which there is a limit. */
export const fewTexts = (most: number) =>
  v.pipe(
    v.array(v.string()),
    v.maxLength(most),
    v.metadata({ expects: `a list of up to ${most} texts` }),
  );

const routing = native('Choice of a provider, its address or its key by a router.', {
  feature: 'routing',
  neutral: empty,
});

/** Properties of routers and proxies that choose the provider, its address or its key. */
export const ROUTING = {
  ...named(routing, 'api_base', 'api_key', 'api_type', 'api_version', 'base_url'),
  ...named(routing, 'billing_policy', 'custom_llm_provider', 'deployment_id', 'extra_body'),
  ...named(routing, 'extra_headers', 'fallback_credit_token', 'fallbacks', 'headers', 'models'),
  ...named(routing, 'organization', 'plugins', 'preset', 'project', 'provider', 'providers'),
  ...named(routing, 'route', 'user_profile_id', 'workspace_id'),
};

/** Settings by their names in the canonical request; formats have them by names of their own. */
export const SETTING = {
  temperature: hint('Sampling temperature.', { value: number(0, 2), setting: 'temperature' }),
  topP: hint('Nucleus sampling: the share of probability to choose from.', {
    value: number(0, 1),
    setting: 'topP',
    neutral: values(1),
  }),
  maxOutputTokens: meaning('Maximum output tokens, including reasoning.', {
    value: integer(1),
    setting: 'maxOutputTokens',
  }),
  n: meaning('Number of answers.', { value: integer(1), setting: 'n', neutral: values(1) }),
  frequencyPenalty: hint('Penalty for frequent tokens.', {
    value: number(-2, 2),
    setting: 'frequencyPenalty',
    neutral: values(0),
  }),
  presencePenalty: hint('Penalty for tokens that occurred.', {
    value: number(-2, 2),
    setting: 'presencePenalty',
    neutral: values(0),
  }),
  logprobs: meaning('Whether to return log probabilities of output tokens.', {
    value: v.boolean(),
    setting: 'logprobs',
    neutral: values(false),
  }),
  parallelToolCalls: meaning('Whether the model may call several tools in parallel.', {
    value: v.boolean(),
    setting: 'parallelToolCalls',
    neutral: values(true),
  }),
  verbosity: hint('Length of the answer: low, medium, high.', {
    value: v.string(),
    setting: 'verbosity',
    neutral: values('medium'),
  }),
};

/** Settings that OpenAI's formats and Anthropic's have. */
export const SETTINGS = {
  model: meaning('The model that answers.', { required: nonEmptyText("a model's name") }),
  stream: meaning('Whether to stream the answer as server-sent events.', { value: v.boolean() }),
  temperature: SETTING.temperature,
  top_p: SETTING.topP,
};

/** Settings of sampling and of several answers, which only some of OpenAI's formats have. */
export const CHOICES = {
  frequency_penalty: SETTING.frequencyPenalty,
  presence_penalty: SETTING.presencePenalty,
  seed: hint('Seed for reproducible sampling.', {
    value: integer(Number.MIN_SAFE_INTEGER),
    setting: 'seed',
  }),
  n: SETTING.n,
  logit_bias: meaning('Bias of single tokens.', {
    value: openObject({}),
    setting: 'logitBias',
    neutral: empty,
  }),
};

/** Stop sequences of chat and legacy completions. */
export const stops = textOrList('a text or a list of up to 4 texts', fewTexts(4));

/** Options of a stream of chat and legacy completions. */
export const STREAM_OPTIONS = {
  include_usage: meaning('Whether the stream ends with a chunk with the usage.', {
    value: v.boolean(),
  }),
};

/** Labels, and hints for caches. */
export const LABELS = {
  client_metadata: advice('Telemetry of the client.'),
  metadata: advice('Labels of the answer.'),
  prompt_cache_key: advice('Key that groups requests for the prompt cache.'),
  prompt_cache_options: advice('Options of the prompt cache.'),
  prompt_cache_retention: advice('How long the prompt cache keeps the input.'),
  safety_identifier: advice('Identifier of the end user, for abuse detection.'),
  store: advice('Whether the provider may store the answer.', { neutral: values(false) }),
  user: advice('Identifier of the end user, for abuse detection.', { value: v.string() }),
};

/** Loading of tools by a search of the provider: upstreams of other formats are sent all tools. */
export const LOADING = {
  defer_loading: advice('Whether the tool is loaded by a search.', { neutral: values(false) }),
};

/** Marks of a prompt cache on parts of a request. */
export const CACHE_MARKS = named(
  advice('Mark of a prompt cache.'),
  'cache_control',
  'prompt_cache_breakpoint',
);

const sampler = nativeHint('Sampling of compatible servers.');
const grammar = untranslated('Grammar of the output at a compatible server.');
const template = nativeHint('Template of the prompt, or reasoning, at a compatible server.');

/** A setting of a sampler that is off at some values. */
const off = (...neutral: readonly (number | boolean)[]) =>
  nativeHint('Sampling of compatible servers.', { neutral: values(...neutral) });

/** Sampling and formats of compatible servers, which cost what their tokens cost. */
export const SAMPLING = {
  ...named(sampler, 'dry_allowed_length', 'dry_base', 'dry_penalty_last_n'),
  ...named(sampler, 'dry_sequence_breakers', 'dynatemp_exponent', 'mirostat_eta'),
  ...named(sampler, 'mirostat_tau', 'random_seed', 'repeat_last_n'),
  ...named(off(0), 'dry_multiplier', 'dynatemp_range', 'min_p', 'min_tokens', 'mirostat'),
  ...named(off(0), 'top_a', 'xtc_probability', 'xtc_threshold'),
  ...named(off(1), 'repeat_penalty', 'repetition_penalty', 'typical_p'),
  ...named(off(false), 'ignore_eos', 'include_stop_str_in_output', 'safe_prompt'),
  ...named(off(true), 'skip_special_tokens', 'spaces_between_special_tokens'),
  ...named(
    native('Words and tokens that a compatible server bars or stops at.', { neutral: empty }),
    'bad_words',
    'stop_token_ids',
  ),
  ...named(template, 'chat_template_kwargs', 'enable_thinking', 'prompt_mode'),
  ...named(template, 'reasoning_format', 'reasoning_split', 'thinking_budget'),
  add_generation_prompt: native('Whether the template asks for an answer.', {
    neutral: values(true),
  }),
  continue_final_message: untranslated('Whether the answer continues the last message.', {
    neutral: values(false),
  }),
  cache_prompt: advice('Whether the server caches the prompt.'),
  ...named(grammar, 'grammar', 'guided_choice', 'guided_grammar', 'guided_json'),
  ...named(grammar, 'guided_regex', 'json_schema', 'structured_outputs'),
  include_reasoning: nativeHint('Whether the answer has its reasoning.', {
    neutral: values(true),
  }),
  transforms: advice('How a router shortens an input that is too long.', { neutral: empty }),
};
