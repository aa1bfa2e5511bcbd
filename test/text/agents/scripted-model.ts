import type { FormatName } from '../mock-upstream.ts';
import type { Script, Step } from '../script.ts';
import { type Conversation, type OfferedTool, readConversation } from './conversation.ts';

/** The words of a task that make the scripted model work. */
const TASK =
  /Read (\S+), replace the word (\w+) by (\w+) in it, run the command (.+?), and then say/;

/** The task that coding agents get. */
export function taskOn(file: string): string {
  return `Read ${file}, replace the word blue by grey in it, run the command wc -w ${file}, and then say how many words it has.`;
}

interface Task {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly command: string;
}

type Arguments = Readonly<Record<string, unknown>> | string;

/** How a tool does one step of the task; null if it is not made for it. */
type Use = (tool: OfferedTool, task: Task) => Arguments | null;

/** The first of these parameters that a tool has. */
function parameterOf({ parameters }: OfferedTool, names: readonly string[]): string | undefined {
  return names.find((name) => name in parameters);
}

const PATHS = ['filePath', 'filepath', 'file_path', 'path'];

/** An input of free text, which formats without custom tools have as the only argument. */
function textFor({ kind, parameters }: OfferedTool, text: string): Arguments | null {
  if (kind === 'custom') return text;
  const [name] = Object.keys(parameters);
  return name === undefined ? null : { [name]: text };
}

function runs(tool: OfferedTool, command: string): Arguments | null {
  // Newer models of Codex call its tools by programs.
  if (/^(functions__)?exec$/.test(tool.name)) {
    const program = `text(await tools.exec_command({ cmd: ${JSON.stringify(command)} }))`;
    return textFor(tool, program);
  }
  if (!/^(bash|shell|exec_command|run_shell_command|run_commands)$/i.test(tool.name)) return null;
  const name = parameterOf(tool, ['command', 'cmd', 'commands']);
  if (name === undefined) return null;
  if (name === 'commands') return { commands: [command] };
  const isList = tool.parameters[name]?.type === 'array';
  const needs = tool.required.includes('is_background') ? { is_background: false } : {};
  return { [name]: isList ? ['bash', '-lc', command] : command, ...needs };
}

const read: Use = (tool, { file }) => {
  if (tool.name === 'read_files') return { files: [{ path: file }] };
  if (!/^read(_file)?$/i.test(tool.name)) return null;
  const path = parameterOf(tool, PATHS);
  return path === undefined ? null : { [path]: file };
};

const readByCommand: Use = (tool, { file }) => runs(tool, `cat ${file}`);

const patch: Use = (tool, { file, from, to }) => {
  if (tool.name !== 'apply_patch') return null;
  const line = `The sky is ${from}.`;
  const lines = [`*** Update File: ${file}`, '@@', `-${line}`, `+${line.replace(from, to)}`];
  return textFor(tool, ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n'));
};

const edit: Use = (tool, { file, from, to }) => {
  if (!/^edit(or)?$/i.test(tool.name)) return null;
  const path = parameterOf(tool, PATHS);
  const old = parameterOf(tool, ['oldString', 'old_string', 'old_text']);
  const next = parameterOf(tool, ['newString', 'new_string', 'new_text']);
  if (path === undefined || old === undefined || next === undefined) return null;
  return { [path]: file, [old]: from, [next]: to };
};

const editByCommand: Use = (tool, { file, from, to }) =>
  runs(tool, `sed -i s/${from}/${to}/ ${file}`);

const run: Use = (tool, { command }) => runs(tool, command);

const locate: Use = (tool) => runs(tool, 'pwd');

/** The steps of the task: the first way for which the agent offers a tool. */
const STEPS: readonly (readonly Use[])[] = [
  [read, readByCommand],
  [patch, edit, editByCommand],
  [run],
];

function callOf(
  uses: readonly Use[],
  { tools }: Conversation,
  task: Task,
  id: string,
): Step | null {
  for (const use of uses) {
    for (const tool of tools) {
      const given = use(tool, task);
      if (given !== null) return callStep(tool, given, id);
    }
  }
  return null;
}

function callStep({ name, namespace }: OfferedTool, given: Arguments, id: string): Step {
  if (typeof given !== 'string') {
    const text = JSON.stringify(given);
    if (namespace === undefined) return { call: name, id, arguments: text };
    throw new Error(`the scripted model calls no tool of the namespace ${namespace}`);
  }
  return { custom: name, id, input: given, ...(namespace !== undefined && { namespace }) };
}

/**
 * The next turn of a model that does the task with the tools that an agent offers: it reads the file and asks
 * for the folder in parallel, edits, runs the command, and says the number that the command printed.
 */
export function scriptedTurn(format: FormatName, body: Readonly<Record<string, unknown>>): Script {
  const conversation = readConversation(format, body);
  const usage = { input: 1200 + 100 * conversation.rounds, output: 40, cached: 1000 };
  const found = TASK.exec(conversation.task);
  // Agents also ask for titles and summaries.
  if (!found || conversation.tools.length === 0 || conversation.isAnswered) {
    return { steps: [{ text: 'Grey notes' }], usage };
  }
  const [, file = '', from = '', to = '', command = ''] = found;
  const task = { file, from, to, command };
  const { rounds, results } = conversation;
  const id = `msg_${rounds}`;
  const uses = STEPS[rounds];
  const thought: readonly Step[] = conversation.isReasoning
    ? [{ reasoning: `Step ${rounds + 1}.`, signature: `sig-${rounds}`, encrypted: `enc-${rounds}` }]
    : [];
  if (uses === undefined) {
    const words = /\b(\d+) \S*notes/.exec(results.at(-1) ?? '')?.[1] ?? 'an unknown number of';
    return { id, steps: [...thought, { text: `${file} has ${words} words.` }], usage };
  }
  const call = callOf(uses, conversation, task, `call_${rounds}a`);
  if (call === null) throw new Error(`the agent offers no tool for step ${rounds + 1} of the task`);
  const isFirst = rounds === 0 && conversation.isParallel;
  const second = isFirst ? callOf([locate], conversation, task, 'call_0b') : null;
  const said: Step = { text: `Step ${rounds + 1}.` };
  return { id, steps: [...thought, said, call, ...(second === null ? [] : [second])], usage };
}
