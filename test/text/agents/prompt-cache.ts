import { createHash } from 'node:crypto';
import type { Play } from '../mock-upstream.ts';
import type { Script } from '../script.ts';
import type { Item } from './fixture.ts';
import { scriptedTurn } from './scripted-model.ts';

/** Tokens of the shortest prompt that Anthropic caches. */
const LEAST_TOKENS = 1024;
/** Blocks at which Anthropic looks for an entry, for each mark: that with the mark, and those before it. */
const LOOKBACK = 20;
const MAX_MARKS = 4;
const CHARACTERS_PER_TOKEN = 4;

const UNMARKABLE = new Set(['thinking', 'redacted_thinking']);

interface Block {
  readonly text: string;
  readonly isMarked: boolean;
  /** Why Anthropic refuses its mark; null if it does not. */
  readonly fault: string | null;
}

/** Tokens of the requests so far. */
export interface Counted {
  requests: number;
  input: number;
  read: number;
  written: number;
}

/**
 * The prompt cache of Anthropic, as its documentation describes it: entries are written at marks alone, and are read
 * where the whole prompt before them is the same. An entry lives longer than a test.
 */
export class PromptCache {
  readonly counted: Counted = { requests: 0, input: 0, read: 0, written: 0 };
  readonly #entries = new Set<string>();

  /** The share of all input that was read from the cache. */
  get share(): number {
    return this.counted.read / this.counted.input;
  }

  /** What it counted, for people. */
  get words(): string {
    const { requests, input, read, written } = this.counted;
    const share = `${Math.round(this.share * 100)}% cached`;
    return `${share}: ${requests} requests with ${input} tokens, ${read} read, ${written} written`;
  }

  /** Answers as the scripted model does, with the usage of this cache. */
  get play(): Play {
    return (format, body) => {
      const script = scriptedTurn(format, body);
      return format === 'messages' ? { ...script, ...this.#take(body) } : script;
    };
  }

  #take(body: Item): Pick<Script, 'usage' | 'refuse'> {
    const blocks = blocksOf(body);
    const marks = [...blocks.keys()].filter((index) => blocks[index]!.isMarked);
    const [fault] = marks.flatMap((index) => blocks[index]!.fault ?? []);
    const message = marks.length > MAX_MARKS ? `${marks.length} marks` : fault;
    if (message !== undefined) {
      const error = { type: 'invalid_request_error', message };
      return { refuse: { status: 400, body: { type: 'error', error } } };
    }
    const hash = createHash('sha256');
    let characters = 0;
    const prefixes = blocks.map(({ text }) => {
      hash.update(`${text.length}:${text}`);
      characters += text.length;
      return {
        key: hash.copy().digest('hex'),
        tokens: Math.round(characters / CHARACTERS_PER_TOKEN),
      };
    });
    const tokensAt = (index: number | undefined) => prefixes[index ?? -1]?.tokens ?? 0;
    const looked = marks.flatMap((mark) =>
      Array.from({ length: LOOKBACK }, (_, back) => mark - back),
    );
    const found = looked.filter((index) => this.#entries.has(prefixes[index]?.key ?? ''));
    const read = Math.max(0, ...found.map(tokensAt));
    const cacheable = marks.filter((index) => tokensAt(index) >= LEAST_TOKENS);
    for (const index of cacheable) this.#entries.add(prefixes[index]!.key);
    const written = Math.max(0, tokensAt(cacheable.at(-1)) - read);
    const input = tokensAt(blocks.length - 1);
    this.counted.requests += 1;
    this.counted.input += input;
    this.counted.read += read;
    this.counted.written += written;
    return { usage: { input, output: 40, cached: read, cacheWrite: written } };
  }
}

/** The blocks of a request in the order in which Anthropic hashes them: tools, system, messages. */
function blocksOf({ model, tools = [], system = [], messages, tool_choice, thinking }: Item) {
  const list = (content: Item): Item[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  // Another choice of tools, or other thinking, leaves nothing of the messages in the cache.
  const settings = JSON.stringify([tool_choice, thinking]);
  return [
    ...tools.map((tool: Item) => blockOf(tool, String(model))),
    ...list(system).map((block) => blockOf(block, 'system')),
    ...messages.flatMap(({ role, content }: Item) =>
      list(content).map((block) => blockOf(block, `${role}${settings}`)),
    ),
  ] as readonly Block[];
}

function blockOf({ cache_control: mark, ...block }: Item, place: string): Block {
  const isEmpty = block.type === 'text' && block.text.trim() === '';
  const isRefused = UNMARKABLE.has(block.type) || isEmpty || block.defer_loading === true;
  return {
    text: place + JSON.stringify(block),
    isMarked: mark !== undefined && mark !== null,
    fault: isRefused ? `cache_control is not accepted by ${JSON.stringify(block)}` : null,
  };
}
