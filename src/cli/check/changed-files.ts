import { spawnSync } from 'node:child_process';
import { lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { usageFailure } from '../command/command.ts';

/** Files that changed since a commit. */
export interface ChangedFiles {
  /** The path of each file with the path of its former version, if it has one. */
  readonly files: ReadonlyMap<string, string | undefined>;
  /** Paths of files that were deleted. */
  readonly deleted: readonly string[];
  /** Name of a former version for `git show`. */
  readonly nameOf: (path: string) => string | undefined;
  /** Removes the former versions. */
  readonly remove: () => void;
}

interface GitOptions {
  readonly cwd?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs Git. @returns its output; null if it failed */
function git(args: readonly string[], { cwd, input, env = {} }: GitOptions = {}) {
  const run = spawnSync('git', args, {
    ...(cwd !== undefined && { cwd }),
    ...(input !== undefined && { input }),
    env: { ...process.env, LC_ALL: 'C', ...env },
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  if (run.error) throw usageFailure(`--base: git cannot be run: ${run.error.message}`);
  return run.status === 0
    ? { out: run.stdout, error: '' }
    : { out: null, error: run.stderr.trim().split('\n')[0] ?? '' };
}

function outputOf(args: readonly string[], options?: GitOptions): string {
  const { out, error } = git(args, options);
  if (out === null) throw usageFailure(`--base: git ${args[0]} failed: ${error}`);
  return out;
}

/**
 * Finds the files of the repository that differ from a commit, untracked ones too, and writes their former versions
 * to a temporary folder. Names are separated by NUL and are never arguments of Git.
 *
 * @throws Failure with code `usage`
 */
export function findChangedFiles(base: string): ChangedFiles {
  // Relative, so that paths through symbolic links stay as the user wrote them.
  const root = resolve(outputOf(['rev-parse', '--show-cdup']).trimEnd() || '.');
  const at = { cwd: root };
  const verify = ['rev-parse', '--verify', '--quiet', '--end-of-options'];
  const commit = git([...verify, `${base}^{commit}`], at).out?.trim();
  if (commit === undefined) {
    const isShallow = outputOf(['rev-parse', '--is-shallow-repository'], at).trim() === 'true';
    throw usageFailure(
      `--base ${base}: no such commit in this clone${isShallow ? ', which is shallow' : ''}; fetch it, in GitHub Actions with fetch-depth: 0 of actions/checkout`,
    );
  }
  // What came to the base after the branch began is no change of the branch.
  const fork = git(['merge-base', commit, 'HEAD'], at).out?.trim() ?? commit;
  const diff = outputOf(['diff', '--name-status', '-z', '-M', '--no-ext-diff', fork, '--'], at);
  const fields = diff.split('\0');
  const former = new Map<string, string | undefined>();
  const deleted: string[] = [];
  for (let index = 0; index + 1 < fields.length; ) {
    const [status, from] = [fields[index]!, fields[index + 1]!];
    const moves = /^[RC]/.test(status);
    index += moves ? 3 : 2;
    if (status === 'D') deleted.push(resolve(root, from));
    else former.set(moves ? fields[index - 1]! : from, status === 'A' ? undefined : from);
  }
  const untracked = outputOf(['ls-files', '--others', '--exclude-standard', '-z'], at);
  for (const path of untracked.split('\0')) if (path !== '') former.set(path, undefined);
  const folder = mkdtempSync(join(tmpdir(), 'oriel-base-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    // By an index of its own: Git applies filters such as those of LFS, and changes nothing of the repository.
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    outputOf(['read-tree', fork], { ...at, env });
    const names = [...former.values()].filter((name) => name !== undefined);
    const checkout = ['checkout-index', '-z', '--stdin', `--prefix=${folder}/tree/`];
    git(checkout, { ...at, env, input: names.map((name) => `${name}\0`).join('') });
  } catch (error) {
    remove();
    throw error;
  }
  const versionOf = (name: string | undefined) => {
    const path = name === undefined ? undefined : join(folder, 'tree', name);
    return path !== undefined && lstatSync(path, { throwIfNoEntry: false })?.isFile()
      ? path
      : undefined;
  };
  const entries = [...former].map(([path, name]) => [resolve(root, path), name] as const);
  const names = new Map(entries);
  const nameOf = (path: string) => (names.get(path) ? `${fork}:${names.get(path)}` : undefined);
  const files = new Map(entries.map(([path, name]) => [path, versionOf(name)] as const));
  return { files, deleted, nameOf, remove };
}
