import type { TestDaemon } from '../../daemon.ts';
import type { FormatName } from '../mock-upstream.ts';
import { type Fixture, historyOf, type Item, type RecordedConversation } from './fixture.ts';

/** The answer to a request of an agent, from the events of its stream. */
export interface Answer {
  readonly status: number;
  /** The body of a refusal. */
  readonly refusal: string;
  /** Of calls in the order of the answer. */
  readonly callIds: readonly string[];
  readonly text: string;
  /** Items or blocks of reasoning, which agents send back. */
  readonly reasoning: readonly Item[];
  /** Whether the stream has the last event of its format. */
  readonly isComplete: boolean;
}

interface ReplayOptions {
  readonly model: string;
  /** The owner's key by default. */
  readonly key?: string;
  /** Changes an item before it is sent. */
  readonly change?: (item: Item) => Item;
}

/** Sends the requests of a conversation as the agent did, one after the other. */
export async function replay(
  daemon: TestDaemon,
  { dialect, path, headers }: Fixture,
  { body, turns }: RecordedConversation,
  { model, key, change = (item) => item }: ReplayOptions,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  let history: Item[] = [];
  for (const { keep, add } of turns) {
    const kept = history.slice(0, keep);
    // Items that come again, with other cache marks, get the reasoning that they had.
    const thoughts = answers.flatMap(({ reasoning }) => reasoning).slice(thoughtsIn(kept));
    const added = add.flatMap((item) => withThoughts(change(item), thoughts));
    history = [...kept, ...added];
    const response = await daemon.send(
      path.replace(/models\/[^:]+/, `models/${model}`),
      { ...body, model, [historyOf(dialect)]: history },
      { key, headers },
    );
    const text = await response.text();
    answers.push(
      response.ok
        ? { status: response.status, refusal: '', ...read(dialect, text) }
        : { status: response.status, refusal: text, ...EMPTY },
    );
    if (!response.ok) break;
  }
  return answers;
}

const isThought = ({ type }: Item): boolean => type === 'reasoning' || type === 'thinking';

function thoughtsIn(history: readonly Item[]): number {
  const blocks = history.flatMap((item) =>
    Array.isArray(item.content) ? [item, ...item.content] : [item],
  );
  return blocks.filter(isThought).length;
}

/** Sends reasoning back as this answer has it, not as the recorded one had it. */
function withThoughts(item: Item, thoughts: Item[]): Item[] {
  const replaced = (one: Item) => (isThought(one) ? thoughts.splice(0, 1) : [one]);
  if (!Array.isArray(item.content) || item.role !== 'assistant') return replaced(item);
  return [{ ...item, content: item.content.flatMap(replaced) }];
}

type Content = Pick<Answer, 'callIds' | 'text' | 'reasoning' | 'isComplete'>;

const EMPTY: Content = { callIds: [], text: '', reasoning: [], isComplete: false };

function read(dialect: FormatName, stream: string): Content {
  const data = stream.split('\n').filter((line) => line.startsWith('data: '));
  const events = data
    .filter((line) => line !== 'data: [DONE]')
    .map((line): Item => JSON.parse(line.slice('data: '.length)));
  return READERS[dialect](events);
}

function readChat(events: readonly Item[]): Content {
  const choices = events.flatMap(({ choices }) => choices ?? []);
  return {
    callIds: choices
      .flatMap(({ delta }) => delta?.tool_calls ?? [])
      .flatMap(({ id }: Item) => (id ? [id] : [])),
    text: choices.map(({ delta }) => delta?.content ?? '').join(''),
    reasoning: [],
    isComplete: choices.some(({ finish_reason }) => finish_reason),
  };
}

function readResponses(events: readonly Item[]): Content {
  const completed = events.find(({ type }) => type === 'response.completed');
  const output: Item[] = completed?.response.output ?? [];
  return {
    callIds: output.flatMap(({ call_id }) => (call_id ? [call_id] : [])),
    text: output.flatMap(({ content }) => (content ?? []).map(({ text }: Item) => text)).join(''),
    reasoning: output.filter(({ type }) => type === 'reasoning'),
    isComplete: completed !== undefined,
  };
}

function readMessages(events: readonly Item[]): Content {
  const blocks: Item[] = [];
  for (const { type, index, content_block, delta } of events) {
    if (type === 'content_block_start') blocks[index] = structuredClone(content_block);
    const { text, thinking, signature } = delta ?? {};
    if (text !== undefined) blocks[index].text += text;
    if (thinking !== undefined) blocks[index].thinking += thinking;
    if (signature !== undefined) blocks[index].signature = signature;
  }
  return {
    callIds: blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : [])),
    text: blocks.map(({ text = '' }) => text).join(''),
    reasoning: blocks.filter(({ type }) => type === 'thinking'),
    isComplete: events.some(({ type }) => type === 'message_stop'),
  };
}

function readGemini(events: readonly Item[]): Content {
  const parts = events.flatMap(({ candidates }) => candidates?.[0].content?.parts ?? []);
  return {
    callIds: parts.flatMap(({ functionCall }) => functionCall?.id ?? []),
    text: parts.map(({ text = '' }) => text).join(''),
    reasoning: [],
    isComplete: events.some(({ candidates }) => candidates?.[0].finishReason),
  };
}

const READERS = {
  gemini: readGemini,
  chat: readChat,
  responses: readResponses,
  messages: readMessages,
};
