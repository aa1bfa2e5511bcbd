import type { DialectName } from './mock-upstream.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of three formats, with whatever they held
type Loose = any;

/** The content of an answer, independent of its format. */
export interface NeutralAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string | null;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly stop: 'stop' | 'length' | 'tool-calls' | 'refusal' | null;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly cached: number;
  } | null;
  /** Types of blocks that only one format has. */
  readonly native: readonly string[];
}

/** Reads an answer by the documentation of its format, with no code under test. */
export function readAnswer(dialect: DialectName, body: Loose): NeutralAnswer {
  return READERS[dialect](body);
}

/** Reads the events of a stream in the same way. */
export function readStream(dialect: DialectName, events: readonly Loose[]): NeutralAnswer {
  return READERS[dialect](WHOLES[dialect](events));
}

const READERS = { chat: readChat, responses: readResponse, messages: readMessage };
const WHOLES = { chat: wholeChat, responses: wholeResponse, messages: wholeMessage };

function callOf(name: string, json: string) {
  return { name, arguments: JSON.parse(json === '' ? '{}' : json) as unknown };
}

/** The types of blocks that only one format has. */
function nativeOf(blocks: readonly Loose[], known: ReadonlySet<string>): string[] {
  return blocks.flatMap(({ type }) => (known.has(type) ? [] : [type]));
}

const CHAT_STOPS: Readonly<Record<string, NeutralAnswer['stop']>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  content_filter: 'refusal',
};

function readChat({ choices, usage }: Loose): NeutralAnswer {
  const [{ message, finish_reason }] = choices;
  return {
    text: message.content ?? '',
    reasoning: message.reasoning_content ?? '',
    refusal: message.refusal ?? null,
    calls: (message.tool_calls ?? []).map(({ function: called }: Loose) =>
      callOf(called.name, called.arguments),
    ),
    stop: CHAT_STOPS[finish_reason] ?? null,
    usage: usage
      ? {
          input: usage.prompt_tokens,
          output: usage.completion_tokens,
          cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
        }
      : null,
    native: [],
  };
}

function wholeChat(chunks: readonly Loose[]): Loose {
  const message: Loose = { content: '', tool_calls: [] };
  let finish_reason = null;
  let usage = null;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices) {
      message.content += choice.delta.content ?? '';
      finish_reason = choice.finish_reason ?? finish_reason;
    }
  }
  return { choices: [{ message, finish_reason }], usage };
}

/** Programs run at the provider; only their tool calls are for the client. */
const RESPONSE_ITEMS = new Set([
  'message',
  'reasoning',
  'function_call',
  'program',
  'program_output',
]);

function readResponse({ output, usage, status, incomplete_details }: Loose): NeutralAnswer {
  const of = (type: string): Loose[] => output.filter((item: Loose) => item.type === type);
  const parts = of('message').flatMap(({ content }) => content);
  const calls = of('function_call').map((call) => callOf(call.name, call.arguments));
  const refusals = parts.filter(({ type }) => type === 'refusal');
  const reason = incomplete_details?.reason;
  const incomplete = reason === 'content_filter' ? 'refusal' : 'length';
  return {
    text: parts.map(({ text = '' }) => text).join(''),
    reasoning: of('reasoning')
      .flatMap(({ summary }) => summary)
      .map(({ text }: Loose) => text)
      .join(''),
    refusal: refusals.length > 0 ? refusals.map(({ refusal }) => refusal).join('') : null,
    calls,
    stop: status === 'incomplete' ? incomplete : calls.length > 0 ? 'tool-calls' : 'stop',
    usage: usage
      ? {
          input: usage.input_tokens,
          output: usage.output_tokens,
          cached: usage.input_tokens_details?.cached_tokens ?? 0,
        }
      : null,
    native: nativeOf(output, RESPONSE_ITEMS),
  };
}

/** Built from the `output_item.done` events: some proxies leave the output of the last event empty. */
function wholeResponse(events: readonly Loose[]): Loose {
  const end = events.findLast(({ type }) => /^response\.(completed|incomplete)$/.test(type));
  const output = events
    .filter(({ type }) => type === 'response.output_item.done')
    .sort((a, b) => a.output_index - b.output_index)
    .map(({ item }) => item);
  return { ...end?.response, output };
}

const MESSAGE_BLOCKS = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']);

const MESSAGE_STOPS: Readonly<Record<string, NeutralAnswer['stop']>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool-calls',
  refusal: 'refusal',
};

function readMessage({ content, stop_reason, stop_details, usage }: Loose): NeutralAnswer {
  const of = (type: string): Loose[] => content.filter((block: Loose) => block.type === type);
  const cached = usage.cache_read_input_tokens ?? 0;
  return {
    text: of('text')
      .map(({ text }) => text)
      .join(''),
    reasoning: of('thinking')
      .map(({ thinking }) => thinking)
      .join(''),
    refusal: stop_details?.explanation ?? null,
    calls: of('tool_use').map(({ name, input }) => ({ name, arguments: input })),
    stop: MESSAGE_STOPS[stop_reason] ?? null,
    usage: {
      input: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
      cached,
    },
    native: nativeOf(content, MESSAGE_BLOCKS),
  };
}

function wholeMessage(events: readonly Loose[]): Loose {
  let message: Loose;
  const open = new Map<number, Loose>();
  const json = new Map<number, string>();
  const content: Loose[] = [];
  for (const event of events) {
    if (event.type === 'message_start') {
      // A second message_start with content before it begins a new answer, which is an error.
      if (content.length > 0) content.push({ type: 'an answer that begins anew' });
      message = { ...message, ...event.message, usage: { ...event.message.usage } };
      content.push(...event.message.content);
    } else if (event.type === 'content_block_start') {
      const block = structuredClone(event.content_block);
      open.set(event.index, block);
      json.set(event.index, '');
      content.push(block);
    } else if (event.type === 'content_block_delta') {
      const block = open.get(event.index);
      const { text, thinking, partial_json } = event.delta;
      if (text !== undefined) block.text += text;
      if (thinking !== undefined) block.thinking += thinking;
      if (partial_json !== undefined) json.set(event.index, json.get(event.index) + partial_json);
    } else if (event.type === 'content_block_stop') {
      const input = json.get(event.index);
      if (input) open.get(event.index).input = JSON.parse(input);
    } else if (event.type === 'message_delta') {
      Object.assign(message, event.delta);
      Object.assign(message.usage, event.usage);
    }
  }
  return { ...message, content };
}
