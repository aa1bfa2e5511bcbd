import { escaped, wordsFilled } from './quoting.ts';

/** A file of a client's configuration, or commands for its user's terminal. */
export interface Block {
  /** Where the file goes: `~/.codex/config.toml`, or `hello.mjs` where the commands run; null for commands. */
  readonly path: string | null;
  /** Language of its fence; `console` for commands. */
  readonly language: string;
  readonly text: string;
}

/** A program that talks to a daemon. */
export interface Client {
  /** Name for the command line: `claude-code`. */
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  /** Format of its requests, in words. */
  readonly format: string;
  /** Version that ran with this configuration; null if its settings come from its documentation alone. */
  readonly version: string | null;
  readonly blocks: readonly Block[];
  /** What to know, in Markdown, one note an element. */
  readonly notes: readonly string[];
}

/** What a configuration is filled in with. */
export interface Connection {
  /** Address of the daemon, without a slash at its end. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

/** What stands in README.md for the values of a connection. */
export const EXAMPLE: Connection = {
  url: 'http://127.0.0.1:8787',
  key: 'YOUR_KEY',
  model: 'sandbox-chat',
};

const HEADER =
  /^## (?<name>.+)\n\n`(?<id>[\w-]+)`: (?<kind>\w+), (?<format>[\w ]+?)(?:, version (?<version>[\d.]+))?\n/;

/**
 * Reads the clients of README.md: each has a section with a line of facts, the blocks of its configuration, and a list
 * of notes. Subsections are for people.
 */
export function readClients(markdown: string): Client[] {
  return markdown.split(/^(?=## )/m).flatMap((section) => {
    const facts = HEADER.exec(section)?.groups;
    if (!facts) return [];
    const body = section.split('\n### ', 1)[0]!;
    const { name = '', id = '', kind = '', format = '', version = null } = facts;
    const notes = [...body.matchAll(/^- (.+(?:\n {2}.+)*)/gm)];
    return {
      ...{ id, name, kind, format, version },
      blocks: readBlocks(body),
      // Links to files of the repository lead nowhere from a terminal or the console.
      notes: notes.map(([, note]) =>
        note!.replaceAll('\n  ', ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
      ),
    };
  });
}

/** The fenced blocks of a section. The first code span of the line before a file is its path. */
export function readBlocks(section: string): Block[] {
  const blocks = section.matchAll(/(?:`([^`\n]+)`[^\n]*:\n\n)?```(\w+)\n([\s\S]*?)```/g);
  return Array.from(blocks, ([, path = null, language = '', text = '']) => ({
    path,
    language,
    text: language === 'console' ? text.replace(/^\$ /gm, '') : text,
  }));
}

const STAND_INS = new RegExp(Object.values(EXAMPLE).join('|').replaceAll('.', '\\.'), 'g');

/** A block with the values of a connection, quoted for its language. */
export function filled({ path, language, text }: Block, connection: Connection): Block {
  const values = new Map(
    (['url', 'key', 'model'] as const).map((name) => [EXAMPLE[name], connection[name]]),
  );
  const replaced = (part: string, quote: (value: string) => string = String) =>
    part.replace(STAND_INS, (standIn) => quote(values.get(standIn)!));
  if (language !== 'console') {
    return { path, language, text: replaced(text, (value) => escaped(value, language)) };
  }
  return { path, language, text: wordsFilled(text, replaced) };
}
