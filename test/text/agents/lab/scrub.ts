import type { FormatName } from '../../mock-upstream.ts';
import { type Fixture, historyOf, type Item, type RecordedConversation } from '../fixture.ts';

/** A request that an agent sent. */
export interface Recorded {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Item;
}

/** Headers of the connection, and those that hold a key. */
const LEFT_OUT =
  /^(host|connection|content-length|content-type|accept-encoding|accept-language|authorization|x-api-key|sec-.*|traceparent)$/;

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const SESSION = /ses_[A-Za-z0-9]{20,}/g;

/** A grammar of our own in place of an agent's. */
const GRAMMAR = 'start: /(.|\\n)+/';

/** Replaces texts of vendors, paths, dates and identifiers by ones of our own; the structure stays. */
export class Scrubber {
  readonly #folder: string;
  readonly #ids = new Map<string, string>();

  /** @param folder where the agent worked */
  constructor(folder: string) {
    this.#folder = folder;
  }

  fixture(agent: string, version: string, requests: readonly Recorded[]): Fixture {
    const [first] = requests;
    if (!first) throw new Error(`${agent} sent no request`);
    const dialect = dialectOf(first.path);
    const headers = Object.entries(first.headers)
      .filter(([name]) => !LEFT_OUT.test(name))
      .map(([name, value]) => [name, this.#metadata(String(value))]);
    return {
      agent,
      version,
      dialect,
      path: first.path,
      headers: Object.fromEntries(headers),
      conversations: this.#conversations(dialect, requests),
    };
  }

  #conversations(dialect: FormatName, requests: readonly Recorded[]): RecordedConversation[] {
    const key = historyOf(dialect);
    const found: { body: Item; turns: Item[]; history: Item[]; tools: string }[] = [];
    for (const { body: whole } of requests) {
      const { [key]: raw, ...rest } = whole;
      const history = raw.map((item: Item) => this.#item(item));
      const tools = JSON.stringify(
        (rest.tools ?? []).map((tool: Item) => [
          ...[tool.name, tool.function?.name],
          ...(tool.functionDeclarations ?? []).map(({ name }: Item) => name),
        ]),
      );
      const current = found.find((one) => one.tools === tools);
      const kept = current ? prefix(current.history, history) : 0;
      const turn = { keep: kept, add: history.slice(kept) };
      if (current) {
        current.turns.push(turn);
        current.history = history;
      } else found.push({ body: this.#settings(rest), turns: [turn], history, tools });
    }
    return found.map(({ body, turns }) => ({ body, turns }));
  }

  #settings(body: Item): Item {
    const { tools, system, systemInstruction, instructions, client_metadata, metadata, ...rest } =
      body;
    return {
      ...this.#ided(rest),
      ...(tools && { tools: tools.map((tool: Item) => this.#tool(tool)) }),
      ...(system && { system: this.#content(system) }),
      ...(systemInstruction && { systemInstruction: this.#item(systemInstruction) }),
      ...(instructions && { instructions: 'Instructions of the agent.' }),
      ...(client_metadata && { client_metadata: this.#values(client_metadata) }),
      ...(metadata && { metadata: this.#values(metadata) }),
    };
  }

  #values(object: Item): Item {
    return Object.fromEntries(
      Object.entries(object).map(([name, value]) => [
        name,
        typeof value === 'string' ? this.#metadata(value) : value,
      ]),
    );
  }

  /** A label, of which JSON is shortened: it names folders and times. */
  #metadata(text: string): string {
    if (text.startsWith('{')) return '{"request_kind":"turn"}';
    return this.#id(text.replaceAll(this.#folder, '/project'));
  }

  #id(text: string): string {
    const numbered = (kind: string) => (id: string) => {
      const known = this.#ids.get(id);
      if (known !== undefined) return known;
      const number = String(this.#ids.size + 1).padStart(12, '0');
      const next = kind === 'uuid' ? `00000000-0000-4000-8000-${number}` : `ses_${number}`;
      this.#ids.set(id, next);
      return next;
    };
    return text.replace(UUID, numbered('uuid')).replace(SESSION, numbered('session'));
  }

  #ided(value: Item): Item {
    return JSON.parse(this.#id(JSON.stringify(value).replaceAll(this.#folder, '/project')));
  }

  #tool(tool: Item): Item {
    const { functionDeclarations: functions } = tool;
    if (functions) return { functionDeclarations: functions.map((one: Item) => this.#tool(one)) };
    const inner = tool.function ?? tool;
    const { description, format, tools } = inner;
    const schemas = ['parameters', 'parametersJsonSchema'].filter((name) => inner[name]);
    const [schema = 'input_schema'] = schemas;
    const own = {
      ...inner,
      ...(description !== undefined && { description: `The tool ${inner.name ?? tool.type}.` }),
      ...(inner[schema] && { [schema]: described(inner[schema]) }),
      ...(format?.definition && { format: { ...format, definition: GRAMMAR } }),
      ...(tools && { tools: tools.map((each: Item) => this.#tool(each)) }),
    };
    return tool.function ? { ...tool, function: own } : own;
  }

  #item(item: Item): Item {
    const scrubbed = this.#ided(item);
    const { content, parts, tools, role } = scrubbed;
    return {
      ...scrubbed,
      ...(parts && { parts: this.#content(parts, role === 'model' ? 'assistant' : role) }),
      ...(content && role && role !== 'tool' && { content: this.#content(content, role) }),
      ...(tools && { tools: tools.map((tool: Item) => this.#tool(tool)) }),
    };
  }

  #content(content: Item, role = 'system'): Item {
    if (typeof content === 'string') return this.#text(content, role);
    return content.map((part: Item) =>
      typeof part.text === 'string' ? { ...part, text: this.#text(part.text, role) } : part,
    );
  }

  /** Texts of the model and the task are ours; all else is the vendor's. */
  #text(text: string, role: string): string {
    const own = text.replaceAll(this.#folder, '/project');
    const task = /Read \/project.*how many words it has\./.exec(own);
    if (role === 'assistant') return own;
    return task ? own.slice(task.index, task.index + task[0].length) : 'A text of the agent.';
  }
}

/** A schema without its documentation. */
function described(schema: Item): Item {
  if (Array.isArray(schema)) return schema.map(described);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [
    key,
    key === 'description' && typeof value === 'string' ? 'Text.' : described(value),
  ]);
  return Object.fromEntries(entries);
}

function prefix(one: readonly Item[], other: readonly Item[]): number {
  const at = one.findIndex((item, index) => JSON.stringify(item) !== JSON.stringify(other[index]));
  return at === -1 ? one.length : at;
}

function dialectOf(path: string): FormatName {
  if (path.includes('Content')) return 'gemini';
  if (path.includes('/chat/completions')) return 'chat';
  return path.includes('/responses') ? 'responses' : 'messages';
}
