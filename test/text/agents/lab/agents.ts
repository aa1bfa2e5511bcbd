/** A coding agent, run as its section in src/text/README.md says. */
export interface Agent {
  /** Name of its fixture. */
  readonly name: string;
  /** Heading of its section. */
  readonly section: string;
  /** Package of the npm registry with its version, and the file that runs. */
  readonly package: string;
  readonly version: string;
  readonly bin: string;
  /** A word of the configuration that this variant replaces. */
  readonly replace?: readonly [string, string];
}

const CODEX = { package: '@openai/codex', bin: 'codex' } as const;
const OPENCODE = {
  section: 'opencode',
  package: 'opencode-ai',
  version: '1.18.33',
  bin: 'opencode',
} as const;
const QWEN = { package: '@qwen-code/qwen-code', version: '0.24.4', bin: 'qwen' } as const;
const CLINE = {
  section: 'Cline CLI',
  package: 'cline',
  version: '3.0.65',
  bin: 'cline',
} as const;
const CONTINUE = {
  section: 'Continue CLI',
  package: '@continuedev/cli',
  version: '1.5.47',
  bin: 'cn',
} as const;

export const AGENTS: readonly Agent[] = [
  { name: 'codex-responses', section: 'Codex CLI', version: '0.169.0', ...CODEX },
  {
    name: 'codex-responses-known-model',
    section: 'Codex CLI',
    version: '0.169.0',
    ...CODEX,
    replace: ['model = "', 'model = "gpt-5.5-'],
  },
  {
    name: 'codex-responses-newest-model',
    section: 'Codex CLI',
    version: '0.169.0',
    ...CODEX,
    replace: ['model = "', 'model = "gpt-6.1-sol-'],
  },
  {
    name: 'codex-responses-own-provider',
    section: 'Codex CLI, its own provider',
    version: '0.169.0',
    ...CODEX,
  },
  { name: 'codex-chat', section: 'Codex CLI, chat completions', version: '0.77.0', ...CODEX },
  {
    name: 'claude-code-messages',
    section: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    version: '2.1.332',
    bin: 'claude',
  },
  {
    name: 'gemini-cli-gemini',
    section: 'Gemini CLI',
    package: '@google/gemini-cli',
    version: '0.61.0',
    bin: 'gemini',
  },
  { name: 'opencode-chat', ...OPENCODE },
  {
    name: 'opencode-responses',
    ...OPENCODE,
    replace: ['@ai-sdk/openai-compatible', '@ai-sdk/openai'],
  },
  {
    name: 'opencode-messages',
    ...OPENCODE,
    replace: ['@ai-sdk/openai-compatible', '@ai-sdk/anthropic'],
  },
  { name: 'qwen-chat', section: 'Qwen Code', ...QWEN },
  { name: 'qwen-messages', section: 'Qwen Code, messages', ...QWEN },
  { name: 'cline-chat', ...CLINE },
  {
    name: 'cline-responses',
    ...CLINE,
    replace: ['--provider openai ', '--provider openai-native '],
  },
  {
    name: 'cline-messages',
    ...CLINE,
    section: 'Cline CLI, messages',
  },
  { name: 'continue-chat', ...CONTINUE },
  {
    name: 'continue-messages',
    ...CONTINUE,
    replace: ['provider: openai', 'provider: anthropic'],
  },
];
