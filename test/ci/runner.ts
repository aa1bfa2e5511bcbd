import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { parse } from 'yaml';
import { ROOT, startProgram } from '../oriel.ts';

export interface Step {
  readonly id: string;
  readonly if?: string;
  readonly run: string;
  readonly shell: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly 'working-directory'?: string;
}

export const SOURCE = readFileSync(join(ROOT, 'action.yml'), 'utf8');

export const ACTION: {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: { readonly steps: readonly Step[] };
} = parse(SOURCE);

export interface StepResult {
  readonly outcome: 'success' | 'failure' | 'skipped';
  readonly code: number | null;
  /** Standard output and standard error. */
  readonly log: string;
  readonly outputs: Readonly<Record<string, string>>;
  /** Folders that it added to the path. */
  readonly path: readonly string[];
}

export interface JobOptions {
  /** Folder of the checkout. */
  readonly workspace: string;
  /** Folder for files of the runner, in which the test may look. */
  readonly temporary: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly event?: object;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Checkout of the action. */
  readonly action?: string;
  /** Results of steps that ran in an earlier job, and do not run again. */
  readonly done?: Readonly<Record<string, StepResult>>;
}

export interface JobResult {
  readonly steps: Readonly<Record<string, StepResult>>;
  readonly outputs: Readonly<Record<string, string>>;
  readonly summary: string;
}

type Contexts = Readonly<Record<'inputs' | 'steps' | 'github', object>>;

/** The value of an expression: paths into contexts, texts, `==`, `!=`, `&&`, `||`, `!` and functions of status. */
function evaluate(expression: string, contexts: Contexts, failed: boolean): unknown {
  const parts = expression.replace(/\b(inputs|steps|github)((?:\.[\w-]+)+)/g, (path) => {
    const get = (value: unknown, name: string) => (value as Record<string, unknown>)?.[name] ?? '';
    return JSON.stringify(path.split('.').reduce<unknown>(get, contexts));
  });
  const names = ['success', 'failure', 'cancelled', 'always'];
  const functions = [() => !failed, () => failed, () => false, () => true];
  return new Function(...names, `return (${parts});`)(...functions);
}

function fill(text: string, contexts: Contexts): string {
  return text.replace(/\$\{\{(.*?)\}\}/g, (_, inner) => String(evaluate(inner, contexts, false)));
}

function pairsOf(file: string): Record<string, string> {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return Object.fromEntries(lines.map((line) => /^([\w-]+)=(.*)$/.exec(line)!.slice(1)));
}

/** Runs the steps of the action as a runner of GitHub does for a job with this one step. */
export async function runAction(options: JobOptions): Promise<JobResult> {
  const { workspace, temporary, event = {}, action = ROOT, done = {} } = options;
  const defaults = Object.entries(ACTION.inputs).map(([name, input]) => [name, input.default]);
  const given: Record<string, string> = { ...Object.fromEntries(defaults), ...options.inputs };
  const github = { token: 'token-of-job' };
  const inputs = Object.fromEntries(
    Object.entries(given).map(([name, text]) => [
      name,
      fill(text, { inputs: {}, steps: {}, github }),
    ]),
  );
  const file = (name: string, text = '') => {
    const path = join(temporary, '_runner', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const runner = {
    CI: 'true',
    GITHUB_ACTIONS: 'true',
    GITHUB_WORKSPACE: workspace,
    GITHUB_ACTION_PATH: action,
    GITHUB_EVENT_PATH: file('event.json', JSON.stringify(event)),
    GITHUB_ENV: file('env'),
    GITHUB_PATH: file('path'),
    GITHUB_STEP_SUMMARY: file('summary'),
    GITHUB_REPOSITORY: 'team/site',
    GITHUB_WORKFLOW: 'ci',
    GITHUB_JOB: 'images',
    GITHUB_REF: 'refs/heads/main',
    GITHUB_SHA: '',
    GITHUB_API_URL: 'http://127.0.0.1:9',
    RUNNER_TEMP: temporary,
    ORIEL_CONFIG: undefined,
    ...options.env,
  };
  const steps: Record<string, StepResult> = {};
  let failed = false;
  for (const [index, step] of ACTION.runs.steps.entries()) {
    const former = done[step.id];
    if (former) {
      failed ||= former.outcome === 'failure';
      steps[step.id] = former;
      appendFileSync(runner.GITHUB_PATH, former.path.map((one) => `${one}\n`).join(''));
      continue;
    }
    const contexts = { inputs, steps, github };
    const condition = (step.if ?? 'success()').replace(/^\$\{\{|\}\}$/g, '');
    const checksStatus = /\b(success|failure|cancelled|always)\(/.test(condition);
    if (!evaluate(condition, contexts, failed) || (failed && !checksStatus)) {
      steps[step.id] = { outcome: 'skipped', code: null, log: '', outputs: {}, path: [] };
      continue;
    }
    const output = file(`output-${index}`);
    const added = () => readFileSync(runner.GITHUB_PATH, 'utf8').split('\n').filter(Boolean);
    const before = added();
    const path = [...before.toReversed(), options.env?.['PATH'] ?? process.env['PATH']];
    const env = Object.entries(step.env ?? {}).map(([name, text]) => [name, fill(text, contexts)]);
    const script = file(`script-${index}.sh`, step.run);
    const folder = fill(step['working-directory'] ?? '.', contexts);
    const line = `exec bash --noprofile --norc -eo pipefail '${script}' 2>&1`;
    const { status, out } = await startProgram('bash', ['-c', line], {
      cwd: join(workspace, folder),
      env: {
        ...runner,
        ...Object.fromEntries(env),
        GITHUB_OUTPUT: output,
        PATH: path.join(delimiter),
      },
    }).ended;
    failed ||= status !== 0;
    const outcome = status === 0 ? 'success' : 'failure';
    steps[step.id] = {
      ...{ outcome, code: status, log: out, outputs: pairsOf(output) },
      path: added().slice(before.length),
    };
  }
  const outputs = Object.entries(ACTION.outputs).map(([name, { value }]) => [
    name,
    fill(value, { inputs, steps, github }),
  ]);
  return {
    steps,
    outputs: Object.fromEntries(outputs),
    summary: readFileSync(runner.GITHUB_STEP_SUMMARY, 'utf8'),
  };
}
