import { parsed } from '../../components/json.ts';

/** A part of a conversation as the log shows it. */
export interface ShownTurn {
  readonly role: string;
  readonly text: string;
}

type Json = Readonly<Record<string, unknown>>;

const objects = (value: unknown): readonly Json[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'object' && one !== null);

/** The object of a body; null where it was cut. */
const objectOf = (body: string) => objects(parsed(body))[0] ?? null;

/** The text of content in any of the formats; other parts by their type. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objects(content)
    .map((part) => {
      const { text, thinking, content: inner, output, parts, summary, type, name } = part;
      if (typeof text === 'string') return text;
      if (typeof thinking === 'string') return thinking;
      const called = part['functionCall'] ?? part['input'] ?? part['arguments'];
      if (called !== undefined) return `${name ?? 'call'}(${json(called)})`;
      return textOf(inner ?? output ?? parts ?? summary) || `[${type ?? 'part'}]`;
    })
    .join('\n');
}

const json = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

const calls = (value: unknown) =>
  objects(value)
    .map((call) => textOf([objects(call['function'])[0] ?? call]))
    .join('\n');

/** The turns of a list of messages, items or contents. */
function turnsOf(list: unknown, role: string): ShownTurn[] {
  if (typeof list === 'string') return [{ role, text: list }];
  return objects(list).map((one) => {
    const { content, parts, tool_calls: called, reasoning_content: reasoning = '' } = one;
    const text = [String(reasoning), textOf(content ?? parts ?? [one]), calls(called ?? [])]
      .filter(Boolean)
      .join('\n');
    return { role: String(one['role'] ?? one['type'] ?? role), text };
  });
}

/** What a request asked; null where its body cannot be read. */
export function promptOf(body: string): readonly ShownTurn[] | null {
  const request = objectOf(body);
  if (request === null) return null;
  const system = request['system'] ?? request['instructions'] ?? request['systemInstruction'];
  const asked = request['messages'] ?? request['input'] ?? request['contents'] ?? request['prompt'];
  const turns = turnsOf(asked ?? [], 'user');
  return system === undefined
    ? turns
    : [{ role: 'system', text: textOf(textParts(system)) }, ...turns];
}

const textParts = (system: unknown) => objects(system)[0]?.['parts'] ?? system;

/** What the model answered; null where the answer cannot be read. */
export function answerOf(body: string): readonly ShownTurn[] | null {
  const answer = objectOf(body);
  if (answer === null) return null;
  const { choices, output, content, candidates, text, reasoning, tool_calls: called } = answer;
  if (typeof text === 'string') {
    const turns = [
      ['reasoning', reasoning],
      ['assistant', text],
      ['calls', calls(called ?? [])],
    ] as const;
    return turns.flatMap(([role, one]) => (one ? [{ role, text: String(one) }] : []));
  }
  const lists = choices ? objects(choices).map((choice) => choice['message'] ?? choice) : null;
  return turnsOf(lists ?? output ?? (content && [answer]) ?? contents(candidates), 'assistant');
}

const contents = (candidates: unknown) => objects(candidates).map((one) => one['content']);
