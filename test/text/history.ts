import type { Answer, Mode, Result, Settings, Talk } from './conversation.ts';

/** The messages of a conversation in one dialect. */
interface Words {
  readonly user: (content: Result['content']) => unknown;
  readonly results: (results: readonly Result[]) => readonly unknown[];
  readonly ask: (history: readonly unknown[], mode: Mode, changes: Settings) => Promise<Answer>;
  /** The messages of an answer that are sent with the next request. */
  readonly answered: (answer: Answer) => readonly unknown[];
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
