// Builds dist/console/: the page with its scripts and styles under names that contain a hash of their
// content, each compressed by brotli and gzip, so that the daemon compresses nothing.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const FOLDER = 'dist/console';

/** Compresses the outputs and writes the page that loads them. */
const page = {
  name: 'page',
  setup({ onStart, onEnd }) {
    onStart(() => rm(FOLDER, { recursive: true, force: true }));
    onEnd(async ({ errors, metafile, outputFiles }) => {
      if (errors.length > 0) return;
      await mkdir(FOLDER, { recursive: true });
      await Promise.all(outputFiles.map(({ path, contents }) => writeCompressed(path, contents)));
      const outputs = Object.entries(metafile.outputs);
      const entry = (source) => outputs.find(([, { entryPoint }]) => entryPoint === source);
      const [script, { imports }] = entry('src/console/app/main.tsx');
      const preloads = imports.filter(({ kind }) => kind === 'import-statement');
      const [style] = entry('src/console/app/style.css');
      const [views] = entry('src/console/views/views.css');
      const [icon] = outputs.find(([path]) => path.endsWith('.svg'));
      const template = await readFile('src/console/index.html', 'utf8');
      const html = template
        .replace('STYLE', basename(style))
        .replace('VIEWS', basename(views))
        .replace('ICON', basename(icon))
        .replace('SCRIPT', basename(script))
        .replace(
          'PRELOADS',
          preloads
            .map(({ path }) => `<link rel="modulepreload" href="%ASSETS%/${basename(path)}">`)
            .join('\n'),
        );
      await writeFile(`${FOLDER}/index.html`, html);
    });
  },
};

async function writeCompressed(path, contents) {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  await Promise.all([
    writeFile(path, contents),
    promisify(brotliCompress)(contents, quality).then((bytes) => writeFile(`${path}.br`, bytes)),
    promisify(gzip)(contents, { level: 9 }).then((bytes) => writeFile(`${path}.gz`, bytes)),
  ]);
}

/** Options of esbuild. */
export const consoleOptions = {
  entryPoints: ['app/main.tsx', 'app/style.css', 'views/views.css', 'app/icon.svg'].map(
    (name) => `src/console/${name}`,
  ),
  outdir: FOLDER,
  platform: 'browser',
  target: ['chrome111', 'firefox115', 'safari16.4'],
  format: 'esm',
  bundle: true,
  splitting: true,
  minify: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  loader: { '.svg': 'copy', '.md': 'text' },
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  logLevel: 'warning',
  metafile: true,
  write: false,
  plugins: [page],
};
