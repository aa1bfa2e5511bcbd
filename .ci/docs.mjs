// Writes the table of operations into the README, from the registry that everything else derives
// from, and the JSON Schema of the configuration beside its defaults; with --check it only tells
// whether they are there. With a README named, only its table. node .ci/docs.mjs [--check] [README]
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { check: { type: 'boolean' } },
  allowPositionals: true,
});
const [file = fileURLToPath(new URL('../README.md', import.meta.url))] = positionals;

// A computed name, because a search for unused files would not find what is not built yet.
const registry = new URL('../dist/src/operations/registry.js', import.meta.url);
const { OPERATIONS } = await import(registry.href);
const declared = new URL('../dist/src/config/json-schema.js', import.meta.url);
const { configJsonSchema } = await import(declared.href);

const GIVES = { image: 'files', data: 'report' };
const rows = [
  ['Command', 'What it does', 'Gives', 'Endpoint, below `/api/free/`'],
  ...OPERATIONS.map(({ name, summary, gives, endpoint }) => [
    `\`${name}\``,
    summary,
    GIVES[gives],
    endpoint === undefined ? '' : `\`${endpoint}\``,
  ]),
].map((cells) => cells.map((cell) => cell.replaceAll('|', '\\|')));
// In columns of even width, as the formatter wants it.
const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)));
const [head, ...body] = rows.map((cells) =>
  cells.map((cell, column) => cell.padEnd(widths[column])),
);
const rule = widths.map((width) => '-'.repeat(width));
const table = [head, rule, ...body].map((cells) => `| ${cells.join(' | ')} |`);

const [start, end] = ['<!-- operations:start -->', '<!-- operations:end -->'];
const readme = readFileSync(file, 'utf8');
const from = readme.indexOf(start);
const to = readme.indexOf(end, from);
if (from === -1 || to === -1) throw new Error(`${file}: no ${start} with an ${end} after it`);

const before = readme.slice(0, from + start.length);
const written = `${before}\n\n${table.join('\n')}\n\n${readme.slice(to)}`;
if (!values.check) {
  writeFileSync(file, written);
} else if (written !== readme) {
  console.error(`${file}: the table of operations is not the registry's; npm run docs writes it`);
  process.exitCode = 1;
}

const schemaFile = fileURLToPath(new URL('../config/oriel.schema.json', import.meta.url));
const schema = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
if (positionals.length > 0) {
  // Another README than ours was asked for, and nothing else.
} else if (!values.check) {
  writeFileSync(schemaFile, schema);
} else if (!existsSync(schemaFile) || readFileSync(schemaFile, 'utf8') !== schema) {
  console.error(`${schemaFile}: not what the configuration declares; npm run docs writes it`);
  process.exitCode = 1;
}
