import { spawnSync } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeTemporaryFolder } from '../../temporary.ts';
import { usageFailure } from '../command/command.ts';

/** Files that changed since a commit. */
export type ChangedFiles = ReturnType<typeof findChangedFiles>;

/** Runs Git in a folder. @throws Failure with code `usage` @returns its output; null if it fails where it `may` */
function git(args: readonly string[], cwd = '.', { may = false, input = '', env = {} } = {}) {
  const run = spawnSync('git', args, {
    ...{ cwd, input, encoding: 'utf8', maxBuffer: 1e9 },
    env: { ...process.env, LC_ALL: 'C', ...env },
  });
  if (run.error) throw usageFailure(`--base: git cannot be run: ${run.error.message}`);
  if (run.status === 0) return run.stdout;
  if (may) return null;
  throw usageFailure(`--base: git ${args[0]} failed: ${run.stderr.trim().split('\n')[0]}`);
}

/**
 * Finds the files of the repository that differ from a commit, untracked ones too, and writes their former versions
 * to a temporary folder. Names are separated by NUL and are never arguments of Git.
 *
 * @throws Failure with code `usage`
 */
export function findChangedFiles(base: string) {
  // Relative, so that paths through symbolic links stay as the user wrote them.
  const root = resolve(git(['rev-parse', '--show-cdup'])!.trimEnd() || '.');
  const may = { may: true };
  const verify = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${base}^{commit}`];
  const commit = git(verify, root, may)?.trim();
  if (commit === undefined) {
    const isShallow = git(['rev-parse', '--is-shallow-repository'], root)!.trim() === 'true';
    const shallow = isShallow ? ', which is shallow' : '';
    throw usageFailure(
      `--base ${base}: no such commit in this clone${shallow}; fetch it, in GitHub Actions with fetch-depth: 0 of actions/checkout`,
    );
  }
  // What came to the base after the branch began is no change of the branch.
  const fork = git(['merge-base', commit, 'HEAD'], root, may)?.trim() ?? commit;
  const diff = git(['diff', '--name-status', '-z', '-M', '--no-ext-diff', fork, '--'], root)!;
  const untracked = git(['ls-files', '--others', '--exclude-standard', '-z'], root)!;
  const former = new Map<string, string | null>();
  const deleted: string[] = [];
  const fields = diff.split('\0').values();
  for (const status of fields) {
    const path = fields.next().value;
    if (path === undefined) break;
    if (status === 'D') deleted.push(resolve(root, path));
    else if (/^[RC]/.test(status)) former.set(fields.next().value!, path);
    else former.set(path, status === 'A' ? null : path);
  }
  for (const path of untracked.split('\0').filter(Boolean)) former.set(path, null);
  const { path: folder, remove } = makeTemporaryFolder('base');
  try {
    // By an index of its own: Git applies filters such as those of LFS, and changes nothing of the repository.
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    git(['read-tree', fork], root, { env });
    const checkout = ['checkout-index', '-z', '--stdin', `--prefix=${folder}/tree/`];
    const names = [...former.values()].filter((name) => name !== null);
    git(checkout, root, { ...may, env, input: names.map((name) => `${name}\0`).join('') });
  } catch (error) {
    remove();
    throw error;
  }
  const versionOf = (name: string | null) => {
    const path = name && join(folder, 'tree', name);
    return path && lstatSync(path, { throwIfNoEntry: false })?.isFile() ? path : undefined;
  };
  return {
    /** The path of each file with the path of its former version, if it has one. */
    files: new Map([...former].map(([path, name]) => [resolve(root, path), versionOf(name)])),
    /** Paths of files that were deleted. */
    deleted,
    /** Removes the former versions. */
    remove,
  };
}
