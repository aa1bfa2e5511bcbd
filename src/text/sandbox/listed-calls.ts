import { invalid } from '../../schema/invalid.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { TextPart, TextRequest, Tool, Turn } from '../canonical/canonical.ts';
import { textsIn } from './prompt.ts';

/** A line of a prompt that lists a call: `sandbox:call read_file {"path": "notes.txt"}`. */
const KEYWORD = 'sandbox:call ';

/** Calls of one list. */
const MAX_CALLS = 100;

/** Names of tools in an error message. */
const MAX_NAMES = 20;

/** Characters of a prompt that are searched. */
const SEARCHED = 200_000;

export interface ListedCall {
  readonly tool: Tool;
  /** JSON. */
  readonly arguments: string;
}

/**
 * The call that comes next of those that the last prompt with a list has, one per turn of the assistant, so that
 * agents can do a task of several turns: null once all were made, undefined if no prompt has a list. A request
 * without tools, for a conversation's title for instance, has no list.
 *
 * @throws Failure invalid_request if a line is invalid or its tool is missing
 */
export function nextListedCall(
  { turns }: TextRequest,
  tools: readonly Tool[],
): ListedCall | null | undefined {
  if (tools.length === 0) return undefined;
  for (let index = turns.length - 1; index >= 0; index -= 1) {
    if (turns[index]!.role !== 'user') continue;
    const lines = linesOf(turns[index]!);
    if (lines.length === 0) continue;
    const next = lines[roundsIn(turns.slice(index + 1))];
    return next === undefined ? null : callOf(next, tools);
  }
  return undefined;
}

function linesOf({ parts }: Turn) {
  return textsIn(parts)
    .filter(({ text }) => text.includes(KEYWORD))
    .flatMap(({ text, path }: TextPart) =>
      text
        .slice(0, SEARCHED)
        .split('\n')
        .map((line) => ({ text: line.trim(), path })),
    )
    .filter(({ text }) => text.startsWith(KEYWORD))
    .slice(0, MAX_CALLS);
}

/** Rounds of calls: some clients send each call and each result of a round as a turn of its own. */
function roundsIn(turns: readonly Turn[]): number {
  return turns.filter((turn, index) => hasResults(turn) && !hasResults(turns[index - 1])).length;
}

function hasResults(turn: Turn | undefined): boolean {
  return turn?.parts.some(({ type }) => type === 'tool-result') ?? false;
}

function callOf(
  { text, path }: Pick<TextPart, 'text' | 'path'>,
  tools: readonly Tool[],
): ListedCall {
  const call = text.slice(KEYWORD.length).trim();
  const [name = ''] = call.split(/\s/, 1);
  const json = call.slice(name.length).trim() || '{}';
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) {
    const names = tools.slice(0, MAX_NAMES).map((each) => each.name);
    const most = tools.length > MAX_NAMES ? ', …' : '';
    const known = `expected one of ${names.join(', ')}${most}`;
    throw invalid(path, `sandbox:call: there is no tool ${JSON.stringify(name)}; ${known}`);
  }
  if (!isObject(tryParseJson(json))) {
    throw invalid(path, `sandbox:call: ${name}: expected a JSON object on the same line`);
  }
  return { tool, arguments: json };
}
