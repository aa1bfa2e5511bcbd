// Writes the generated parts of the documentation: tables between markers in Markdown files, from the
// registry of operations and from OpenAPI, and the JSON Schema and the default file of the configuration.
// With --check it only compares, and exits with 1 on a difference. With a file named, it handles the table of operations in
// that file alone. node .ci/docs.mjs [--check] [FILE]
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { check: { type: 'boolean' } },
  allowPositionals: true,
});

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
// A computed specifier: knip would report one of a file that is not built yet.
const built = (name) => import(new URL(`../test/.modules/src/${name}`, import.meta.url).href);

/** A Markdown table with columns of even width, as the formatter wants it. */
function table(rows) {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const [head, ...body] = cells.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column])),
  );
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

async function operationsTable() {
  const { OPERATIONS } = await built('operations/registry.js');
  const { ADJUSTMENTS } = await built('operations/steps/adjustments.js');
  const gives = { image: 'files', data: 'report' };
  // One line for all of them: the README has a limit of bytes.
  const brief = new Set(ADJUSTMENTS.map(({ name }) => name));
  const names = [...brief].map((name) => `\`${name}\``).join(', ');
  const rows = table([
    ['Command', 'What it does', 'Gives', 'Endpoint, below `/api/free/`'],
    ...OPERATIONS.filter(({ name }) => !brief.has(name)).map((operation) => [
      `\`${operation.name}\``,
      operation.summary,
      gives[operation.gives],
      operation.endpoint === undefined ? '' : `\`${operation.endpoint}\``,
    ]),
  ]);
  return `${rows}\n\nSteps of one change (\`batch-STEP-images\`): ${names}.`;
}

/** The OpenAPI document of a daemon that runs on an empty data folder meanwhile. */
async function openApi() {
  const data = mkdtempSync(join(tmpdir(), 'oriel-docs-'));
  // A machine under load must not make the daemon refuse the request.
  writeFileSync(join(data, 'oriel.yaml'), 'overload: { eventLoopDelay: 1h }');
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('ORIEL_'));
  const env = { ...Object.fromEntries(own), ORIEL_BOOTSTRAP_KEY: 'documentation-0123456789' };
  const args = ['serve', '--port', '0', '--data', data, '--log-format', 'json'];
  const daemon = spawn(process.execPath, [path('dist/bin/oriel.cjs'), ...args], {
    cwd: data,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    for await (const line of createInterface({ input: daemon.stdout })) {
      const { msg, url } = JSON.parse(line);
      if (msg === 'ready') return await (await fetch(`${url}/openapi.json`)).json();
    }
    throw new Error('the daemon ended before it was ready');
  } finally {
    daemon.kill('SIGKILL');
    rmSync(data, { recursive: true, force: true, maxRetries: 10 });
  }
}

function endpointsTable({ paths }) {
  const endpoints = Object.entries(paths).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, { summary, parameters = [] }]) => {
      const query = parameters.filter((parameter) => parameter.in === 'query');
      const names = query.map(({ name }) => `${name}=`).join('&');
      return [`\`${method.toUpperCase()} ${route}${names && `?${names}`}\``, summary];
    }),
  );
  return table([['Endpoint', 'What it does'], ...endpoints]);
}

/** Types in one cell: longer lists would make every line as wide as themselves. */
function shortened(types) {
  return types.length <= 4
    ? types.join(', ')
    : `${types.slice(0, 3).join(', ')} and ${types.length - 3} more`;
}

/** The fields of requests for text, with one table for the endpoints of each format. */
function fieldsFile({ paths }) {
  const tables = new Map();
  for (const [route, { post }] of Object.entries(paths)) {
    const fields = post?.['x-oriel-fields'];
    if (fields === undefined) continue;
    const isWhole = ({ path, types = [] }) => path.endsWith('[]') && types.length > 0;
    const rows = fields
      .filter((field) => !isWhole(field))
      .map((field) => [
        `\`${field.path}\``,
        shortened(field.types ?? []),
        field.class,
        field.upstreams,
        field.neutral === null ? '' : `\`${field.neutral}\``,
        field.about,
      ]);
    const head = ['Field', 'Of types', 'Class', 'Upstreams', 'Neutral', 'What it is'];
    const whole = fields.filter(isWhole).map(({ path, types }) => {
      return `Types of \`${path}\` that only upstreams of the same format get: ${types.join(', ')}.`;
    });
    const written = [table([head, ...rows]), ...whole].join('\n\n');
    tables.set(written, [...(tables.get(written) ?? []), `\`POST ${route}\``]);
  }
  const sections = [...tables].map(
    ([written, routes]) => `## ${routes.join(', ')}\n\n${written}\n`,
  );
  return `# Fields of requests for text

Written by \`npm run docs\` from the tables of the text dialects; \`/openapi.json\` has the same as \`x-oriel-fields\`.

- **meaning**: reaches the model, or the request is refused with the field's path, unless \`onUnsupported\` drops it.
  Fields for \`all\` upstreams are translated where the format of the upstream has a word for them; those for the
  \`same format\` are sent only to upstreams of the client's format.
- **hint**: changes how the model samples, or how long it writes. Where the format of the upstream lacks it, it is
  dropped or clamped and named in the header \`x-oriel-dropped\`, unless \`onUnsupported: refuse\` refuses it.
- **advice**: changes nothing of an answer. Where the format of the upstream has no word for it, it is left out and
  named in the header \`x-oriel-ignored\`.
- **Neutral** values ask for what happens anyway, and so does null: they are accepted for every upstream.

${sections.join('\n')}`;
}

async function configurationSchema() {
  // The schema lists the registered dialects.
  await built('text/built-in-dialects.js');
  const { configJsonSchema } = await built('config/loading/print.js');
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}

async function recipesSchema() {
  const { recipeJsonSchema } = await built('operations/recipe/schema.js');
  return `${JSON.stringify(recipeJsonSchema(), null, 2)}\n`;
}

/** A Markdown file with other text between the markers of a section. */
function withSection(file, section, text) {
  const [start, end] = [`<!-- ${section}:start -->`, `<!-- ${section}:end -->`];
  const markdown = readFileSync(file, 'utf8');
  const from = markdown.indexOf(start);
  const to = markdown.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`${file}: expected ${start} and ${end} after it`);
  return `${markdown.slice(0, from + start.length)}\n\n${text}\n\n${markdown.slice(to)}`;
}

function update(file, text) {
  if (!values.check) {
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${file}: generated parts are out of date; npm run docs writes them`);
    process.exitCode = 1;
  }
}

async function errorCodesFile() {
  const { HTTP_CODES } = await built('error-codes.js');
  const { WARNING_CODES } = await built('warning-codes.js');
  const codes = Object.entries(HTTP_CODES).map(([code, { types, status, meaning }]) => [
    `\`${code}\``,
    `\`${types[0]}\``,
    String(status),
    meaning,
  ]);
  const warnings = Object.entries(WARNING_CODES).map(([code, meaning]) => [`\`${code}\``, meaning]);
  return `# Error codes

Written by \`npm run docs\` from \`src/error-codes.ts\`. An error has one of these codes, the code of the
provider's own error, or none. The status is that of the usual type; a failed file of a batch is in the
report of the batch, and has no status of its own.

${table([['Code', 'Type', 'Status', 'Meaning'], ...codes])}

A file of a batch that succeeded may have warnings:

${table([['Code', 'Meaning'], ...warnings])}
`;
}

const [only] = positionals;
const readme = only ?? path('README.md');
update(readme, withSection(readme, 'operations', await operationsTable()));
if (only === undefined) {
  const api = path('src/http/README.md');
  const document = await openApi();
  update(api, withSection(api, 'endpoints', endpointsTable(document)));
  update(path('config/fields.md'), fieldsFile(document));
  update(path('config/oriel.schema.json'), await configurationSchema());
  update(path('config/recipe.schema.json'), await recipesSchema());
  update(path('config/error-codes.md'), await errorCodesFile());
  const { defaultFile } = await import('./default-file.mjs');
  update(path('config/default.yaml'), defaultFile());
}
