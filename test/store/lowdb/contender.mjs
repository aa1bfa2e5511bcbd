// Opens a store as soon as it is told to on standard input, and says what came of it.
import { openStore } from '../../../dist/src/store/lowdb/open.js';

const [directory] = process.argv.slice(2);
process.stdout.write('ready\n');
process.stdin.once('data', async () => {
  try {
    const store = await openStore({ directory });
    process.stdout.write('open\n');
    process.stdin.once('data', async () => {
      await store.close();
      process.stdout.write('closed\n');
      process.stdin.destroy();
    });
  } catch (error) {
    process.stdout.write(`${error.code} ${error.message}\n`);
    process.stdin.destroy();
  }
});
