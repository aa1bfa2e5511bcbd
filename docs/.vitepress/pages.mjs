/** Pages of the site below headings of its sidebar: address, title, and the file in the repository. */
export const SIDEBAR = [
  [
    'Get started',
    [
      ['index', 'Start in five minutes', 'docs/start.md'],
      ['connect', 'Connect a client', 'src/clients/README.md'],
      ['providers', 'Providers and models', 'docs/providers.md'],
      ['images', 'Images on the command line', 'docs/images.md'],
      ['image-urls', 'Images by URL', 'docs/image-urls.md'],
      ['ci', 'In CI', 'config/ci/README.md'],
      ['comparison', 'Compared with others', 'docs/comparison.md'],
    ],
  ],
  [
    'Operate',
    [
      ['production', 'Production', 'docs/production.md'],
      ['nodes', 'Several nodes', 'config/nodes/README.md'],
      ['scale', 'What it can carry', 'docs/scale.md'],
      ['operating', 'Configuration, keys, budgets', 'config/README.md'],
      ['alerts', 'Alerts', 'src/alerts/README.md'],
      ['security', 'Security', 'SECURITY.md'],
      ['changelog', 'Changes', 'CHANGELOG.md'],
    ],
  ],
  [
    'Reference',
    [
      ['text', 'Text', 'src/text/README.md'],
      ['media', 'Images, video and audio', 'src/media/README.md'],
      ['http', 'HTTP API', 'src/http/README.md'],
      ['recordings', 'Recorded answers', 'src/exchanges/README.md'],
      ['operations', 'Image commands', 'src/operations/README.md'],
      ['gallery', 'Everyday tasks', 'test/gallery/README.md'],
      ['fields', 'Fields of requests', 'config/fields.md'],
      ['error-codes', 'Error codes', 'config/error-codes.md'],
      ['benchmarks', 'Benchmarks', 'test/bench/README.md'],
    ],
  ],
  [
    'Contribute',
    [
      ['contributing', 'How the code is built', 'CONTRIBUTING.md'],
      ['decisions', 'Decisions', 'DECISIONS.md'],
      ['console', 'The console', 'src/console/README.md'],
    ],
  ],
];

/** Addresses of pages by their files. The README's is the first page. */
export const PAGES = new Map([
  ...SIDEBAR.flatMap(([, pages]) => pages.map(([address, , file]) => [file, address])),
  ['README.md', 'index'],
]);
