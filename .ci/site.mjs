// Builds the documentation site from docs/ and the documents that stay beside their code, into docs/.site/.
// Their links to each other become links of the site; links to other files of the repository become text.
// node .ci/site.mjs
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vitepress';
import { PAGES, SIDEBAR } from '../docs/.vitepress/pages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, 'docs/.pages');

/** A document as a page of the site. @param file its path in the repository */
function pageOf(markdown, file) {
  let fence;
  const lines = markdown.replace(/<!--[\s\S]*?-->\n*/g, '').split('\n');
  return lines.map((line) => {
    const [, marks] = /^\s*(`{3,})/.exec(line) ?? [];
    if (marks !== undefined)
      fence = fence === undefined ? marks : marks === fence ? undefined : fence;
    return fence === undefined ? withLinks(line, file) : line;
  });
}

function withLinks(line, file) {
  return line
    .replace(/<img alt="([^"]*)" src="([^"]+)">/g, (_, alt, source) => {
      const picture = basename(source);
      copyFileSync(join(ROOT, dirname(file), source), join(FOLDER, 'public', picture));
      return `![${alt}](/${picture})`;
    })
    .replace(/(?<!!)\[((?:[^[\]]|\[[^[\]]*\])+)\]\((?!https?:)([^)\s]+)\)/g, (_, text, target) => {
      const [path, anchor] = target.split('#');
      const resolved = path === '' ? file : posix.join(dirname(file), path);
      const page = PAGES.get(resolved) ?? PAGES.get(posix.join(resolved, 'README.md'));
      if (page === undefined) return text;
      // The README is no page: its part is the first page.
      const place = anchor === undefined || resolved === 'README.md' ? '' : `#${anchor}`;
      return `[${text}](/${page}${place})`;
    });
}

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(join(FOLDER, 'public'), { recursive: true });
copyFileSync(join(ROOT, 'src/console/app/icon.svg'), join(FOLDER, 'public/icon.svg'));
for (const [, pages] of SIDEBAR) {
  for (const [address, , file] of pages) {
    const text = pageOf(readFileSync(join(ROOT, file), 'utf8'), file).join('\n');
    writeFileSync(join(FOLDER, `${address}.md`), text);
  }
}
await build(join(ROOT, 'docs'));
console.log(`docs/.site/: ${readdirSync(join(ROOT, 'docs/.site')).length} files`);
