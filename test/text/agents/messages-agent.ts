import Anthropic from '@anthropic-ai/sdk';
import type { TestDaemon } from '../../daemon.ts';
import { OWNER_KEY } from '../../daemon.ts';
import { runCommand, type VirtualFiles } from './virtual-files.ts';

type Parameters = Anthropic.Beta.Messages.MessageCreateParamsStreaming;
type Message = Anthropic.Beta.Messages.BetaMessage;
type Block = Anthropic.Beta.Messages.BetaContentBlockParam;

/** Marks of the system prompt and the last turn, as agents set them. */
const CACHED = { cache_control: { type: 'ephemeral', ttl: '1h' } } as const;

const SCHEMA = 'https://json-schema.org/draft/2020-12/schema';

function toolOf(name: string, properties: Readonly<Record<string, object>>, required: string[]) {
  return {
    name,
    description: `The tool ${name}.`,
    input_schema: {
      $schema: SCHEMA,
      type: 'object' as const,
      properties,
      required,
      additionalProperties: false,
    },
  };
}

const TEXT = { type: 'string', description: 'Text.' } as const;

const TOOLS = [
  toolOf('Read', { file_path: TEXT, offset: { type: 'integer', minimum: 0 } }, ['file_path']),
  toolOf(
    'Edit',
    { file_path: TEXT, old_string: TEXT, new_string: TEXT, replace_all: { type: 'boolean' } },
    ['file_path', 'old_string', 'new_string'],
  ),
  toolOf('Bash', { command: TEXT, timeout: { type: 'number' }, description: TEXT }, ['command']),
];

/** How an agent thinks, with the betas that it names for that. */
export interface Thinking {
  readonly settings: Pick<Parameters, 'thinking' | 'context_management' | 'output_config'>;
  readonly betas: readonly string[];
}

const KEEP = {
  edits: [{ type: 'clear_thinking_20251015' as const, keep: 'all' as const }],
};

export const THINKING: Readonly<Record<string, Thinking>> = {
  none: { settings: {}, betas: [] },
  enabled: {
    settings: { thinking: { type: 'enabled', budget_tokens: 4096 } },
    betas: ['interleaved-thinking-2025-05-14'],
  },
  adaptive: {
    settings: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    betas: ['effort-2025-11-24'],
  },
  'adaptive, all of it kept': {
    settings: {
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
      context_management: KEEP,
    },
    betas: ['context-management-2025-06-27'],
  },
};

/** A client of Anthropic's interface with the headers of an agent. */
export function clientFor({ url }: TestDaemon, authToken = OWNER_KEY): Anthropic {
  return new Anthropic({
    authToken,
    apiKey: null,
    baseURL: url,
    maxRetries: 0,
    defaultHeaders: { 'x-app': 'cli', 'user-agent': 'an-agent/1.0 (external, cli)' },
  });
}

/** The settings of every request of an agent. */
export function settingsOf(model: string, { settings, betas }: Thinking) {
  return {
    model,
    max_tokens: 32_000,
    system: [
      { type: 'text' as const, text: 'You are an agent.' },
      { type: 'text' as const, text: 'You work in /project.', ...CACHED },
    ],
    tools: TOOLS,
    metadata: { user_id: 'user_0_account__session_00000000-0000-4000-8000-000000000001' },
    betas: ['prompt-caching-scope-2026-01-05', ...betas],
    ...settings,
  };
}

/**
 * Does a task with streamed requests until an answer calls no tool, as the documentation of the messages format says:
 * the content of an answer is sent back unchanged, thinking included, with all results in one turn.
 */
export async function work(
  daemon: TestDaemon,
  { model, task, thinking }: { model: string; task: string; thinking: Thinking },
  files: VirtualFiles,
): Promise<Message[]> {
  const client = clientFor(daemon);
  const messages: Parameters['messages'] = [
    { role: 'user', content: [{ type: 'text', text: task, ...CACHED }] },
  ];
  const answers: Message[] = [];
  for (;;) {
    const stream = client.beta.messages.stream({ ...settingsOf(model, thinking), messages });
    const answer = await stream.finalMessage();
    answers.push(answer);
    const calls = answer.content.filter((block) => block.type === 'tool_use');
    if (calls.length === 0) return answers;
    if (answers.length > 10) throw new Error('the agent does not finish');
    const results: Block[] = calls.map(({ id, name, input }) => ({
      type: 'tool_result',
      tool_use_id: id,
      ...resultOf(name, input as Readonly<Record<string, string>>, files),
    }));
    messages.push({ role: 'assistant', content: answer.content });
    messages.push({ role: 'user', content: markedLast(results) });
  }
}

function markedLast(blocks: readonly Block[]): Block[] {
  return blocks.map((block, at) => (at === blocks.length - 1 ? { ...block, ...CACHED } : block));
}

function resultOf(
  name: string,
  {
    file_path = '',
    old_string = '',
    new_string = '',
    command = '',
  }: Readonly<Record<string, string>>,
  files: VirtualFiles,
): { content: string; is_error?: boolean } {
  const content = files.get(file_path);
  if (name === 'Bash') return { content: runCommand(command, files) };
  if (content === undefined) return { content: `no file ${file_path}`, is_error: true };
  if (name === 'Read') return { content };
  files.set(file_path, content.replace(old_string, new_string));
  return { content: `edited ${file_path}` };
}
