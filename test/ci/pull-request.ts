import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { listening } from '../fixtures/server.ts';
import { temporaryFolder } from '../oriel.ts';

type Files = Readonly<Record<string, Uint8Array | string | null>>;

const IDENTITY = { NAME: 'Tester', EMAIL: 'tester@example.org' };
const GIT_ENVIRONMENT = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  ...Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((role) =>
      Object.entries(IDENTITY).map(([name, value]) => [`GIT_${role}_${name}`, value]),
    ),
  ),
};

export function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, ...GIT_ENVIRONMENT };
  return execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

/** Changes files of a repository, of which null deletes. @returns the commit */
export function commit(cwd: string, files: Files = {}): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(cwd, name);
    mkdirSync(dirname(path), { recursive: true });
    if (content === null) rmSync(path);
    else writeFileSync(path, content);
  }
  git(cwd, 'add', '--all');
  git(cwd, 'commit', '--quiet', '--allow-empty', '--message=change');
  return git(cwd, 'rev-parse', 'HEAD');
}

/** Ways in which actions/checkout checks out a pull request: its options. */
export type Checkout = 'default' | 'fetch-depth: 0' | 'ref: head';

/**
 * A repository with a pull request, and a checkout of it.
 *
 * @param base files of the commit where the branch began
 * @param head files that the pull request changes; null deletes
 * @param later commits that its base got since then; the event knows only the first
 */
export function pullRequest(base: Files, head: Files, later: readonly Files[] = []) {
  const origin = temporaryFolder();
  git(origin, 'init', '--quiet', '--initial-branch=main');
  git(origin, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
  const first = commit(origin, base);
  git(origin, 'checkout', '--quiet', '-b', 'topic');
  const last = commit(origin, head);
  git(origin, 'checkout', '--quiet', 'main');
  const [known = first] = later.map((files) => commit(origin, files));
  git(origin, 'merge', '--quiet', '--no-ff', '--no-edit', 'topic');
  const merge = git(origin, 'rev-parse', 'HEAD');
  git(origin, 'update-ref', 'refs/pull/7/merge', merge);
  git(origin, 'reset', '--quiet', '--hard', 'HEAD^1');
  const checkout = (kind: Checkout = 'default') => {
    const workspace = temporaryFolder();
    git(workspace, 'init', '--quiet');
    git(workspace, 'remote', 'add', 'origin', `file://${origin}`);
    const sha = kind === 'ref: head' ? last : merge;
    const what =
      kind === 'fetch-depth: 0' ? ['+refs/heads/*:refs/remotes/origin/*', sha] : ['--depth=1', sha];
    git(workspace, 'fetch', '--quiet', '--no-tags', 'origin', ...what);
    git(workspace, 'checkout', '--quiet', '--force', sha);
    return workspace;
  };
  // The title and the names of branches are written by strangers.
  const branch = 'a$(touch\t-f\tpwned)';
  const event = {
    pull_request: {
      number: 7,
      title: '`touch pwned`',
      base: { sha: known },
      head: { sha: last, ref: branch, repo: { full_name: 'stranger/site' } },
    },
  };
  const env = {
    ...GIT_ENVIRONMENT,
    GITHUB_REF: 'refs/pull/7/merge',
    GITHUB_SHA: merge,
    GITHUB_HEAD_REF: branch,
  };
  return { checkout, event, env };
}

interface Comment {
  readonly id: number;
  readonly user: { readonly type: string };
  readonly author_association: string;
  body: string;
}

/** A server that answers as GitHub's API for comments of a pull request. @param refuse status of writes */
export async function commentsApi(comments: Comment[] = [], refuse?: number) {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    const chunks = await request.toArray();
    requests.push(`${request.method} ${url.pathname}`);
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.headers.authorization !== 'Bearer token-of-job') return send(401, {});
    if (request.method === 'GET') {
      const page = Number(url.searchParams.get('page'));
      return send(200, comments.slice((page - 1) * 100, page * 100));
    }
    if (refuse !== undefined) return send(refuse, { message: 'no' });
    const { body } = JSON.parse(Buffer.concat(chunks).toString());
    if (request.method === 'PATCH') {
      const id = Number(url.pathname.split('/').at(-1));
      comments.find((one) => one.id === id)!.body = body;
      return send(200, {});
    }
    const id = comments.length + 1;
    comments.push({ id, body, user: { type: 'Bot' }, author_association: 'NONE' });
    return send(201, {});
  });
  return { requests, comments, url: await listening(server) };
}
