import { createHash } from 'node:crypto';
import { isObject } from '../../schema/untrusted.ts';
import type { TextRequest, Tool } from '../canonical.ts';
import { pathOf } from '../knobs.ts';
import { invalid } from '../refusals.ts';
import { Hints, placeOf } from './hints.ts';
import { type Prompt, toolsOf } from './prompt.ts';
import { Unmakeable } from './schema/unmakeable.ts';
import { makeValue } from './schema/value.ts';

export interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

const ASKS = /\b(?:call|use|invoke|run|try)\b[^.?!\n]{0,60}\b(?:tools?|functions?)\b/i;
const SEVERAL = /\b(?:two|both|all|every|each)\b[^.?!\n]{0,40}\b(?:tools|functions)\b/i;
const TWO = /\btwo\b[^.?!\n]{0,40}\b(?:tools|functions)\b/i;

/** Prompts are looked at so far only. */
const READ = 20_000;

/**
 * The tools that the model would call now: what the client forces, or else what the prompt names or
 * asks for. A turn that brings results is answered in words.
 *
 * @throws Failure invalid_request where the client wants what cannot be
 */
export function callsFor(request: TextRequest, prompt: Prompt): Call[] {
  const calls = toolsFor(request, prompt).map((tool, index) => {
    const json = JSON.stringify(argumentsFor(tool, prompt));
    const told = JSON.stringify([request.turns.length, index, tool.name, json]);
    const digest = createHash('sha256').update(told).digest('hex');
    return { id: `call_${digest.slice(0, 24)}`, name: tool.name, arguments: json };
  });
  return request.parallelToolCalls === false ? calls.slice(0, 1) : calls;
}

function toolsFor(request: TextRequest, prompt: Prompt): Tool[] {
  const tools = toolsOf(request);
  const { toolChoice } = request;
  const choice = toolChoice?.type ?? 'auto';
  const path = () => pathOf(request, 'toolChoice');
  if (toolChoice?.type === 'tool') {
    const forced = tools.find(({ name }) => name === toolChoice.name);
    if (!forced) throw invalid(path(), `there is no tool ${JSON.stringify(toolChoice.name)}`);
    return [forced];
  }
  if (choice === 'required') {
    if (tools.length === 0) throw invalid(path(), 'a tool is required, and there is none');
    const asked = askedFor(tools, prompt.text);
    return asked.length > 0 ? asked : tools.slice(0, 1);
  }
  if (choice === 'none' || prompt.results.length > 0) return [];
  return askedFor(tools, prompt.text);
}

/** In the order in which the prompt names them. */
function askedFor(tools: readonly Tool[], prompt: string): Tool[] {
  const text = prompt.slice(0, READ);
  const named = tools
    .map((tool) => ({ tool, at: nameIn(text, tool.name) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ tool }) => tool);
  if (named.length > 0) return named;
  if (SEVERAL.test(text)) return tools.slice(0, TWO.test(text) ? 2 : tools.length);
  return ASKS.test(text) ? tools.slice(0, 1) : [];
}

/** Where a text has a name: as it is, or in words, as `get weather` for `get_weather`. */
function nameIn(text: string, name: string): number {
  const at = placeOf(text, name);
  const words = name.replace(/[_-]+/g, ' ').trim();
  return at >= 0 || words === name || words === '' ? at : placeOf(text, words);
}

function argumentsFor({ name, parameters, path }: Tool, prompt: Prompt): object {
  if (parameters === null) return {};
  // A prompt that is about nothing but the call is no value for it.
  const hints = new Hints(prompt.text);
  const fault = (why: string) =>
    invalid(path, `the sandbox has no arguments for ${name}: ${why}`, 'unsupported_schema');
  try {
    const value = makeValue({ type: 'object', ...parameters }, hints);
    if (!isObject(value)) throw fault('its parameters are no object');
    return value;
  } catch (error) {
    throw error instanceof Unmakeable ? fault(error.message) : error;
  }
}
