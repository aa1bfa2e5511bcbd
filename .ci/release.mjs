// npm run release -- FOLDER: writes the npm package, a CycloneDX SBOM of what it installs and contains, and
// SHA256SUMS of both. Two clones of one commit give equal bytes, in any folder.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = resolve(process.argv[2] ?? 'release');
process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
mkdirSync(folder, { recursive: true });
const run = (program, ...args) =>
  execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }).trim();

await import('./build.mjs');
const tarball = run('npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder);
const sbom = JSON.parse(run('npm', 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'));
writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(released(sbom), null, 2)}\n`);
const sums = [tarball, 'sbom.cdx.json'].map((name) => `${hashOf(name).toString('hex')}  ${name}\n`);
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
process.stdout.write(sums.join(''));

function hashOf(name) {
  return createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest();
}

/** The SBOM of what is installed or bundled, without what differs between two runs of npm. */
function released({ metadata, components, dependencies, ...others }) {
  const root = metadata.component['bom-ref'];
  const { name, dependencies: own } = JSON.parse(readFileSync('package.json', 'utf8'));
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const sections = readFileSync('dist/licenses.txt', 'utf8').split(`\n${'-'.repeat(80)}\n\n`);
  const bundled = sections.map((text) => text.split(' (', 1)[0].replace(' ', '@'));
  const edges = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
  const installed = Object.entries(own).map(([dependency, version]) => `${dependency}@${version}`);
  const references = new Set([root, ...installed, ...bundled]);
  // Sets also give what is added while they are read.
  for (const reference of references) {
    const nameOf = (one) => one.slice(0, one.lastIndexOf('@'));
    const peers = packages[`node_modules/${nameOf(reference)}`]?.peerDependenciesMeta;
    for (const next of reference === root ? [] : (edges.get(reference) ?? [])) {
      // Peers that are optional, such as TypeScript, are there for development alone.
      if (!peers?.[nameOf(next)]?.optional) references.add(next);
    }
  }
  const id = hashOf(tarball).toString('hex');
  // Of the commit, or the one that builders of distributions set (reproducible-builds.org).
  const seconds = process.env.SOURCE_DATE_EPOCH ?? run('git', 'log', '-1', '--format=%ct');
  return {
    ...others,
    // A UUID of version 8 (RFC 9562), from the hash of the package.
    serialNumber: `urn:uuid:${id.slice(0, 8)}-${id.slice(8, 12)}-8${id.slice(13, 16)}-a${id.slice(17, 20)}-${id.slice(20, 32)}`,
    metadata: {
      ...metadata,
      timestamp: new Date(seconds * 1000).toISOString(),
      // npm writes the name of the folder.
      component: { ...metadata.component, name },
    },
    components: components.filter((one) => references.has(one['bom-ref'])),
    dependencies: [...references].map((ref) => ({
      ref,
      dependsOn:
        ref === root ? installed : (edges.get(ref) ?? []).filter((one) => references.has(one)),
    })),
  };
}
