import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from './oriel.ts';

const SITE = join(ROOT, 'docs/.site');

describe('the documentation site', () => {
  let log = '';
  let pages = new Map<string, string>();
  let files: string[] = [];
  beforeAll(() => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['.ci/site.mjs'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    log = stdout + stderr;
    expect(status, log).toBe(0);
    files = readdirSync(SITE, { recursive: true, encoding: 'utf8' });
    const html = files.filter((file) => file.endsWith('.html'));
    pages = new Map(html.map((file) => [`/${file}`, readFileSync(join(SITE, file), 'utf8')]));
  }, 600_000);

  it('is built without a fault of a page', () => {
    // A page that cannot be rendered fails no build of VitePress.
    expect(log).not.toMatch(/error|warn/i);
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining(['/index.html', '/connect.html', '/comparison.html', '/http.html']),
    );
  });

  it('links only to pages and headings that it has', () => {
    const links = [...pages].flatMap(([page, html]) =>
      Array.from(html.matchAll(/<a [^>]*?href="([^"]+)"/g), ([, href]) => [page, href!] as const),
    );
    const broken = links.filter(([page, href]) => {
      if (/^https?:/.test(href)) return false;
      const [path = '', anchor] = href.split('#');
      const target = pages.get(path === '' ? page : path === '/' ? '/index.html' : path);
      if (target === undefined) return true;
      return anchor !== undefined && !target.includes(` id="${decodeURIComponent(anchor)}"`);
    });
    expect(broken).toEqual([]);
    expect(links.length).toBeGreaterThan(500);
  });

  it('loads nothing from elsewhere', () => {
    const sources = [...pages.values()].flatMap((html) =>
      Array.from(
        html.matchAll(/<(?:script|link|img)[^>]*? (?:src|href)="([^"]+)"/g),
        ([, url]) => url!,
      ),
    );
    const missing = sources.filter((url) => !files.includes(url.replace(/^\//, '')));
    expect(missing).toEqual([]);
    const styles = files.filter((file) => file.endsWith('.css'));
    for (const file of styles) {
      expect(readFileSync(join(SITE, file), 'utf8')).not.toMatch(/url\(["']?(https?:)?\/\//);
    }
  });
});
