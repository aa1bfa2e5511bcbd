// Writes what derives from the source: the table of operations in the README, the JSON Schema of the
// configuration and the list of error codes. With --check it only compares. With a README named, only
// its table is written. node .ci/docs.mjs [--check] [README]
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
const rows = OPERATIONS.map(({ name, summary, gives, endpoint }) => [
  `\`${name}\``,
  summary,
  GIVES[gives],
  endpoint === undefined ? '' : `\`${endpoint}\``,
]);
const HEAD = ['Command', 'What it does', 'Gives', 'Endpoint, below `/api/free/`'];

const [start, end] = ['<!-- operations:start -->', '<!-- operations:end -->'];
const readme = readFileSync(file, 'utf8');
const from = readme.indexOf(start);
const to = readme.indexOf(end, from);
if (from === -1 || to === -1) throw new Error(`${file}: no ${start} with an ${end} after it`);

const before = readme.slice(0, from + start.length);
const written = `${before}\n\n${markdown([HEAD, ...rows])}\n\n${readme.slice(to)}`;
if (!values.check) {
  writeFileSync(file, written);
} else if (written !== readme) {
  console.error(`${file}: the table of operations is not the registry's; npm run docs writes it`);
  process.exitCode = 1;
}

/** The rows of a table as Markdown, in columns of even width, as the formatter wants it. */
function markdown(rows) {
  const cells = rows.map((row) => row.map((cell) => String(cell).replaceAll('|', '\\|')));
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const [head, ...body] = cells.map((row) => row.map((cell, at) => cell.padEnd(widths[at])));
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

const codeTable = new URL('../dist/src/error-codes.js', import.meta.url);
const { HTTP_CODES } = await import(codeTable.href);
const codes = Object.entries(HTTP_CODES).map(([code, { types, status, meaning }]) => [
  `\`${code}\``,
  `\`${types[0]}\``,
  status,
  meaning,
]);
const errors = `# Error codes

Written by \`npm run docs\` from \`src/error-codes.ts\`. An error has one of these codes, the code of the
provider's own error, or none. The status is that of the usual type; a failed file of a batch is in the
report of the batch, and has no status of its own.

${markdown([['Code', 'Type', 'Status', 'Meaning'], ...codes])}
`;
const configSchema = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
const generated = {
  'config/oriel.schema.json': configSchema,
  'config/error-codes.md': errors,
};
// With a README named, only its table is of interest.
for (const [name, text] of positionals.length > 0 ? [] : Object.entries(generated)) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  if (!values.check) {
    writeFileSync(path, text);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    console.error(`${name} differs from the source that it derives from; npm run docs writes it`);
    process.exitCode = 1;
  }
}
