import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FormatName } from '../mock-upstream.ts';

// biome-ignore lint/suspicious/noExplicitAny: items of three formats
export type Item = any;

/** A request as its difference to the one before it. */
interface Turn {
  /** Items of the history that are as in the request before. */
  readonly keep: number;
  /** Items that follow these. */
  readonly add: readonly Item[];
}

/** Requests that continue one history. */
export interface RecordedConversation {
  /** The body without its history. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly turns: readonly Turn[];
}

/** The requests of one task of a coding agent, with texts and identifiers of our own. */
export interface Fixture {
  readonly agent: string;
  readonly version: string;
  readonly dialect: FormatName;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly conversations: readonly RecordedConversation[];
}

export const FIXTURES = join(import.meta.dirname, 'fixtures');

/** All fixtures by name. */
export function readFixtures(): [string, Fixture][] {
  const files = readdirSync(FIXTURES).filter((name) => name.endsWith('.json'));
  return files.map((name) => [
    name.replace(/\.json$/, ''),
    JSON.parse(readFileSync(join(FIXTURES, name), 'utf8')) as Fixture,
  ]);
}

/** The property of a body that is its history. */
export function historyOf(dialect: FormatName): 'contents' | 'input' | 'messages' {
  if (dialect === 'gemini') return 'contents';
  return dialect === 'responses' ? 'input' : 'messages';
}

/** The calls of the model in a history. */
function callsIn(dialect: FormatName, history: readonly Item[]): { name: string; input: string }[] {
  return history.flatMap((item) => {
    if (dialect === 'responses') {
      if (item.type === 'function_call') return [{ name: item.name, input: item.arguments }];
      if (item.type !== 'custom_tool_call') return [];
      // The sandbox has the names of namespaces as prefixes.
      const name = item.namespace ? `${item.namespace}__${item.name}` : item.name;
      return [{ name, input: JSON.stringify({ input: item.input }) }];
    }
    if (dialect === 'gemini') {
      const calls = item.parts.flatMap(({ functionCall }: Item) => functionCall ?? []);
      return calls.map(({ name, args }: Item) => ({ name, input: JSON.stringify(args) }));
    }
    if (dialect === 'chat') {
      return (item.tool_calls ?? []).map((call: Item) => ({
        name: call.function.name,
        input: call.function.arguments,
      }));
    }
    if (!Array.isArray(item.content)) return [];
    return item.content
      .filter(({ type }: Item) => type === 'tool_use')
      .map(({ name, input }: Item) => ({ name, input: JSON.stringify(input) }));
  });
}

/** The conversation that does the task: agents also ask for titles and notes. */
export function mainConversation({ conversations }: Fixture): RecordedConversation {
  return conversations.toSorted((one, other) => other.turns.length - one.turns.length)[0]!;
}

/** A prompt for a sandbox that lists the calls which a model made in a fixture. */
export function listedTask(fixture: Fixture, folder = '/project'): string {
  let length = 0;
  const calls = mainConversation(fixture).turns.flatMap(({ keep, add }) => {
    // Earlier items may come again, with other cache marks.
    const added = add.slice(Math.max(0, length - keep));
    length = keep + add.length;
    // The sandbox makes one call in each answer.
    const [call] = callsIn(fixture.dialect, added);
    if (!call) return [];
    return [`sandbox:call ${call.name} ${call.input.replaceAll('/project', folder)}`];
  });
  return ['Do this:', ...calls, 'Then say what you found.'].join('\n');
}

export function readFixture(name: string): Fixture {
  return JSON.parse(readFileSync(join(FIXTURES, `${name}.json`), 'utf8')) as Fixture;
}
