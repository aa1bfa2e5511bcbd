// Joins chunks that are always loaded together. Node takes half a millisecond to find, read and link a module, and
// esbuild makes a chunk for each set of entries that share code: fifty for one image.
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

/** Files that loading `start` loads, by their static imports. */
function closureOf(start, { outputs }) {
  const found = new Set();
  const add = (file) => {
    if (found.has(file)) return;
    found.add(file);
    for (const { path, kind } of outputs[file].imports) {
      if (kind === 'import-statement' && outputs[path]) add(path);
    }
  };
  for (const file of start) add(file);
  return found;
}

/**
 * Moves the code of chunks into one file for each group of sources. A chunk that is an entry, or that others import when
 * they run, remains and exports its code from there.
 *
 * @param apart source files whose chunks stay as they are
 * @param groups lists of source files; a chunk that several groups load belongs to the first
 * @param alone further groups, only of chunks that no other entry loads
 */
export async function mergeChunks(metafile, { apart, groups, alone }) {
  const { outputs } = metafile;
  const fileOf = new Map(
    Object.entries(outputs).map(([file, { entryPoint }]) => [entryPoint, file]),
  );
  const filesOf = (sources) =>
    closureOf(
      sources.map((source) => fileOf.get(source)),
      metafile,
    );
  const kept = filesOf(apart);
  const merged = new Map();
  const addGroup = (name, sources, others) => {
    for (const file of filesOf(sources)) {
      if (!merged.has(file) && !kept.has(file) && !others.has(file)) merged.set(file, name);
    }
  };
  for (const [name, sources] of Object.entries(groups)) addGroup(name, sources, new Set());
  for (const [name, sources] of Object.entries(alone)) {
    const isOther = (entry) => entry !== undefined && !sources.includes(entry);
    addGroup(name, sources, filesOf([...fileOf.keys()].filter(isOther)));
  }
  const files = [...merged.keys()];
  const outputOf = (file) => join('dist', 'chunks', `${merged.get(file)}.js`);
  const exported = (file, toText) =>
    outputs[file].exports.map((name) => toText(name, `c${files.indexOf(file)}_${name}`));
  /** What is left of a chunk in `folder`. */
  const stubOf = (file, folder) =>
    `export { ${exported(file, (name, alias) => `${alias} as ${name}`)} } from ${pathIn(folder, outputOf(file))};\n`;
  /** One module of the code of `own` chunks, which imports that of others from where it is now. */
  const bundle = async (output, own, contents) => {
    const chunks = {
      name: 'chunks',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^\.\.?\// }, ({ path, kind, resolveDir, namespace }) => {
          const file = relative('.', resolve(resolveDir, path));
          const isStatic = kind === 'import-statement' && namespace !== 'stub';
          if (isStatic && own.includes(file)) return { path: resolve(file) };
          if (isStatic && merged.has(file)) return { path: file, namespace: 'stub' };
          return { path: JSON.parse(pathIn(dirname(output), file)), external: true };
        });
        onLoad({ filter: /./, namespace: 'stub' }, ({ path }) => {
          return { contents: stubOf(path, '.'), resolveDir: '.' };
        });
      },
    };
    const { outputFiles } = await build({
      stdin: { contents: contents.join('\n'), resolveDir: '.', loader: 'js' },
      ...{ bundle: true, format: 'esm', platform: 'node', target: 'node20.19', write: false },
      ...{ outfile: output, packages: 'external', plugins: [chunks], logLevel: 'warning' },
    });
    return [output, outputFiles[0].contents];
  };
  const joined = [...new Set(merged.values())].map((group) => {
    const own = files.filter((file) => merged.get(file) === group);
    const contents = own.map((file) => {
      return `export { ${exported(file, (name, alias) => `${name} as ${alias}`)} } from "./${file}";`;
    });
    return bundle(outputOf(own[0]), own, contents);
  });
  const importsMerged = (file) => outputs[file].imports.some(({ path }) => merged.has(path));
  const redirected = Object.keys(outputs)
    .filter((file) => !merged.has(file) && !kept.has(file) && importsMerged(file))
    .map((file) => bundle(file, [file], [`export { ${outputs[file].exports} } from "./${file}";`]));
  const built = await Promise.all([...joined, ...redirected]);
  for (const [file, contents] of built) writeFileSync(file, contents);
  for (const file of files) {
    if (outputs[file].entryPoint) writeFileSync(file, stubOf(file, dirname(file)));
    else rmSync(file);
  }
}

/** The path by which a module in a folder imports a file, in quotes. */
function pathIn(folder, file) {
  const path = relative(folder, file);
  return JSON.stringify(path.startsWith('.') ? path : `./${path}`);
}
