import { createHash } from 'node:crypto';
import { invalid } from '../../schema/invalid.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { TextRequest, Tool } from '../canonical/canonical.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { nextListedCall } from './listed-calls.ts';
import { type Prompt, toolsOf } from './prompt.ts';
import { PromptValues } from './schema/prompt-values.ts';
import { StepBudget, UnsupportedSchema, withSupported } from './schema/step-budget.ts';
import { generateValue } from './schema/value-generator.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

/** Sentences that ask for a call of any tool, of several tools, and of two. */
const ANY_TOOL = /\b(?:call|use|invoke|run|try)\b[^.?!\n]{0,60}\b(?:tools?|functions?)\b/i;
const SEVERAL_TOOLS = /\b(?:two|both|all|every|each)\b[^.?!\n]{0,40}\b(?:tools|functions)\b/i;
const TWO_TOOLS = /\btwo\b[^.?!\n]{0,40}\b(?:tools|functions)\b/i;

/** Sources of the arguments of all calls. */
interface ArgumentContext {
  readonly promptValues: PromptValues;
  readonly budget: StepBudget;
}

/** Characters of the prompt that are searched. */
const SEARCHED = 20_000;

/**
 * The tool calls of an answer: the next call that the prompt lists, or else the tools that `tool_choice` forces,
 * or else those that the prompt names or asks for. Tool results are answered with text.
 *
 * @throws Failure invalid_request if a forced tool is missing or its schema is not supported
 */
export function callsFor(request: TextRequest, prompt: Prompt): ToolCall[] {
  const tools = toolsOf(request);
  const listed = nextListedCall(request, tools);
  if (listed === null) return [];
  if (listed !== undefined && request.toolChoice?.type !== 'none') {
    return [callWith(request, 0, listed.tool, listed.arguments)];
  }
  // One budget for all tools: many small schemas are as much work as a large one.
  const context = {
    promptValues: new PromptValues(tools.length > 0 ? prompt.text : ''),
    budget: new StepBudget(),
  };
  const calls = calledTools(request, { prompt, tools, context }).map((tool, index) => {
    return callWith(request, index, tool, JSON.stringify(argumentsFor(tool, context)));
  });
  return request.parallelToolCalls === false ? calls.slice(0, 1) : calls;
}

function callWith({ turns }: TextRequest, index: number, { name }: Tool, json: string): ToolCall {
  const identity = JSON.stringify([turns.length, index, name, json]);
  const digest = createHash('sha256').update(identity).digest('hex');
  return { id: `call_${digest.slice(0, 24)}`, name, arguments: json };
}

function calledTools(
  request: TextRequest,
  { prompt, tools, context }: { prompt: Prompt; tools: readonly Tool[]; context: ArgumentContext },
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
    const requested = requestedTools(tools, prompt.text, context);
    return requested.length > 0 ? requested : tools.slice(0, 1);
  }
  if (choice === 'none' || prompt.results.length > 0) return [];
  return requestedTools(tools, prompt.text, context);
}

/** The tools that a prompt names, in that order, or else asks for without a name. */
function requestedTools(tools: readonly Tool[], prompt: string, context: ArgumentContext): Tool[] {
  const text = prompt.slice(0, SEARCHED);
  const named = tools
    .map((tool) => ({ tool, index: indexOfName(tool, context) }))
    .filter(({ index }) => index >= 0)
    .sort((a, b) => a.index - b.index)
    .map(({ tool }) => tool);
  if (named.length > 0) return named;
  if (SEVERAL_TOOLS.test(text)) return tools.slice(0, TWO_TOOLS.test(text) ? 2 : tools.length);
  return ANY_TOOL.test(text) ? tools.slice(0, 1) : [];
}

/** Index in the prompt of a tool's name, also with blanks: `get weather` for `get_weather`. */
function indexOfName({ name, path }: Tool, { promptValues, budget }: ArgumentContext): number {
  return withSupported(path, 'the tools are too many for the sandbox', () => {
    const index = promptValues.indexOfWord(name, budget);
    const spaced = name.replace(/[_-]+/g, ' ').trim();
    return index >= 0 || spaced === name || spaced === ''
      ? index
      : promptValues.indexOfWord(spaced, budget);
  });
}

function argumentsFor(
  { name, parameters, path }: Tool,
  { promptValues, budget }: ArgumentContext,
): object {
  if (parameters === null) return {};
  return withSupported(path, `the sandbox has no arguments for ${name}`, () => {
    const value = generateValue({ type: 'object', ...parameters }, promptValues, budget);
    if (!isObject(value)) throw new UnsupportedSchema('its parameters are not an object');
    return value;
  });
}
