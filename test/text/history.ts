import type { Answer, Mode, Result, Settings, Talk } from './conversation.ts';

/** The messages of a conversation in one dialect. */
interface Words {
  readonly user: (content: Result['content']) => unknown;
  readonly results: (results: readonly Result[]) => readonly unknown[];
  readonly ask: (history: readonly unknown[], mode: Mode, changes: Settings) => Promise<Answer>;
  /** The messages of an answer that are sent with the next request. */
  readonly answered: (answer: Answer) => readonly unknown[];
}

/** The events of a stream, as they were when they came: clients change them later. */
export async function eventsIn(stream: Promise<unknown> | AsyncIterable<unknown>) {
  // biome-ignore lint/suspicious/noExplicitAny: fields that the clients' types do not have
  const events: any[] = [];
  for await (const event of (await stream) as AsyncIterable<unknown>) {
    events.push(structuredClone(event));
  }
  return events;
}

/** A conversation whose client keeps its history. */
export function talkWith({ user, results, ask, answered }: Words, settings: Settings): Talk {
  const history: unknown[] = [];
  const self: Talk = {
    user: (content) => self.push(user(content)),
    results: (...given) => self.push(...results(given)),
    push(...items) {
      history.push(...items);
      return self;
    },
    async ask(mode = 'whole', changes = {}) {
      const answer = await ask(history, mode, { ...settings, ...changes });
      self.push(...answered(answer));
      return answer;
    },
  };
  return self;
}
