import type { TestDaemon } from '../../daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { type Fixture, historyOf, type Item, type RecordedConversation } from './fixture.ts';

/** The answer to a request of an agent, from the events of its stream. */
export interface Answer {
  readonly status: number;
  /** The body of a refusal. */
  readonly refusal: string;
  /** Of calls in the order of the answer. */
  readonly callIds: readonly string[];
  readonly text: string;
  /** Items of reasoning of the responses format, which agents send back. */
  readonly reasoning: readonly Item[];
  /** Whether the stream has the last event of its format. */
  readonly isComplete: boolean;
}

interface ReplayOptions {
  readonly model: string;
  /** Changes an item before it is sent. */
  readonly change?: (item: Item) => Item;
}

/** Sends the requests of a conversation as the agent did, one after the other. */
export async function replay(
  daemon: TestDaemon,
  { dialect, path, headers }: Fixture,
  { body, turns }: RecordedConversation,
  { model, change = (item) => item }: ReplayOptions,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  let history: Item[] = [];
  for (const { keep, add } of turns) {
    const thoughts = [...(answers.at(-1)?.reasoning ?? [])];
    const added = add.flatMap((item) => {
      if (item.type !== 'reasoning') return [change(item)];
      // Reasoning is sent back as this answer has it, not as the recorded one had it.
      const thought = thoughts.shift();
      return thought === undefined ? [] : [thought];
    });
    history = [...history.slice(0, keep), ...added];
    const response = await daemon.request(path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, model, [historyOf(dialect)]: history }),
    });
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

type Content = Pick<Answer, 'callIds' | 'text' | 'reasoning' | 'isComplete'>;

const EMPTY: Content = { callIds: [], text: '', reasoning: [], isComplete: false };

function read(dialect: DialectName, stream: string): Content {
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
  return {
    callIds: events.flatMap(({ content_block }) =>
      content_block?.type === 'tool_use' ? [content_block.id] : [],
    ),
    text: events.map(({ delta }) => delta?.text ?? '').join(''),
    reasoning: [],
    isComplete: events.some(({ type }) => type === 'message_stop'),
  };
}

const READERS = { chat: readChat, responses: readResponses, messages: readMessages };
