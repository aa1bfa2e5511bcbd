import { createHash } from 'node:crypto';
import { isObject } from '../../schema/untrusted.ts';
import type { TextRequest, Tool } from '../canonical.ts';
import { invalid } from '../dialects/request-errors.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { Hints } from './hints.ts';
import { type Prompt, toolsOf } from './prompt.ts';
import { Unmakeable } from './schema/unmakeable.ts';
import { makeValue } from './schema/value.ts';
import { Work } from './schema/work.ts';

export interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

const ASKS = /\b(?:call|use|invoke|run|try)\b[^.?!\n]{0,60}\b(?:tools?|functions?)\b/i;
const SEVERAL = /\b(?:two|both|all|every|each)\b[^.?!\n]{0,40}\b(?:tools|functions)\b/i;
const TWO = /\btwo\b[^.?!\n]{0,40}\b(?:tools|functions)\b/i;

/** What the arguments of all calls are made from. */
interface Means {
  readonly hints: Hints;
  readonly work: Work;
}

/** Prompts are looked at so far only. */
const READ = 20_000;

/**
 * The tools that the model would call now: what the client forces, or else what the prompt names or
 * asks for. A turn that brings results is answered in words.
 *
 * @throws Failure invalid_request where the client wants what cannot be
 */
export function callsFor(request: TextRequest, prompt: Prompt): Call[] {
  const tools = toolsOf(request);
  // One budget for all of them: many small schemas are as much work as a large one.
  const means = { hints: new Hints(tools.length > 0 ? prompt.text : ''), work: new Work() };
  const calls = toolsFor(request, { prompt, tools, means }).map((tool, index) => {
    const json = JSON.stringify(argumentsFor(tool, means));
    const told = JSON.stringify([request.turns.length, index, tool.name, json]);
    const digest = createHash('sha256').update(told).digest('hex');
    return { id: `call_${digest.slice(0, 24)}`, name: tool.name, arguments: json };
  });
  return request.parallelToolCalls === false ? calls.slice(0, 1) : calls;
}

function toolsFor(
  request: TextRequest,
  { prompt, tools, means }: { prompt: Prompt; tools: readonly Tool[]; means: Means },
): Tool[] {
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
    const asked = askedFor(tools, prompt.text, means);
    return asked.length > 0 ? asked : tools.slice(0, 1);
  }
  if (choice === 'none' || prompt.results.length > 0) return [];
  return askedFor(tools, prompt.text, means);
}

/** In the order in which the prompt names them. */
function askedFor(tools: readonly Tool[], prompt: string, means: Means): Tool[] {
  const text = prompt.slice(0, READ);
  const named = tools
    .map((tool) => ({ tool, at: nameIn(tool, means) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ tool }) => tool);
  if (named.length > 0) return named;
  if (SEVERAL.test(text)) return tools.slice(0, TWO.test(text) ? 2 : tools.length);
  return ASKS.test(text) ? tools.slice(0, 1) : [];
}

/** Where a text has a name: as it is, or in words, as `get weather` for `get_weather`. */
function nameIn({ name, path }: Tool, { hints, work }: Means): number {
  try {
    const at = hints.placeOf(name, work);
    const words = name.replace(/[_-]+/g, ' ').trim();
    return at >= 0 || words === name || words === '' ? at : hints.placeOf(words, work);
  } catch (error) {
    if (!(error instanceof Unmakeable)) throw error;
    throw invalid(path, 'the tools are too many for the sandbox', 'unsupported_schema');
  }
}

function argumentsFor({ name, parameters, path }: Tool, { hints, work }: Means): object {
  if (parameters === null) return {};
  const fault = (why: string) =>
    invalid(path, `the sandbox has no arguments for ${name}: ${why}`, 'unsupported_schema');
  try {
    const value = makeValue({ type: 'object', ...parameters }, hints, work);
    if (!isObject(value)) throw fault('its parameters are no object');
    return value;
  } catch (error) {
    throw error instanceof Unmakeable ? fault(error.message) : error;
  }
}
