import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Facts } from '../../components/fact-list.tsx';
import { SelectField } from '../../components/field.tsx';
import { save, visible } from '../../components/files.ts';
import { formatBytes, formatPercent } from '../../components/format.ts';
import { ErrorState } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import type { Output } from './answer.ts';
import { Comparison } from './comparison.tsx';
import { changeText } from './file-list.tsx';
import { labelOf } from './operations.ts';
import { sizeText, stageHeight, usePicture } from './picture.ts';
import { type Colour, coloursOf, type Fact, factsOf, rgbOf } from './report.ts';
import type { Item, Result } from './store.ts';

interface ShownFileProps {
  readonly item: Item;
  /** Key of the present options, to mark a result of others. */
  readonly jobKey: string;
  readonly onRetry: () => void;
}

/** One file: its picture, what was made of it or found in it, or why it failed. */
export function ShownFile({ item, jobKey, onRetry }: ShownFileProps) {
  const { path, file, error, result } = item;
  return (
    <section class="card shown-file" aria-labelledby="shown-file">
      <h2 id="shown-file" class="ellipsis">
        <bdi>{visible(path)}</bdi>
      </h2>
      {error && <ErrorState error={error} onRetry={onRetry} />}
      {result ? (
        <>
          <Facts
            facts={[
              labelOf(result.job.operation.name),
              result.job.key !== jobKey && <span class="badge">made with other options</span>,
            ]}
          />
          {result.outputs.length > 0 ? (
            <Outputs key={item.id} file={file} result={result} />
          ) : (
            <Report data={result.record.data ?? {}} />
          )}
          <Warnings result={result} />
        </>
      ) : (
        <Original file={file} hasFailed={error !== null} />
      )}
    </section>
  );
}

function Original({ file, hasFailed }: { readonly file: File; readonly hasFailed: boolean }) {
  const picture = usePicture(file);
  if (picture === undefined) return null;
  if (picture === null) {
    return hasFailed ? null : (
      <p class="muted">This browser cannot show this file. The server may still read it.</p>
    );
  }
  return (
    <>
      <div class="stage" style={{ maxHeight: stageHeight(picture) }}>
        <img class="fitted" src={picture.url} alt="Before" />
      </div>
      <Facts facts={[sizeText(picture), formatBytes(file.size)]} />
    </>
  );
}

function Outputs({ file, result }: { readonly file: File; readonly result: Result }) {
  const { outputs, record } = result;
  const [chosen, setChosen] = useState(0);
  const output = outputs[Math.min(chosen, outputs.length - 1)]!;
  return (
    <>
      {outputs.length > 1 && (
        <SelectField
          label={`Result, ${outputs.length} in all`}
          value={String(outputs.indexOf(output))}
          choices={outputs.map((one, index) => [String(index), outputText(one)] as const)}
          onValue={(value) => setChosen(Number(value))}
        />
      )}
      <Comparison before={file} after={output} />
      <Facts
        facts={[
          output.format.toUpperCase(),
          sizeText(output),
          `${formatBytes(file.size)} → ${formatBytes(output.size)}`,
          <strong key="change">{changeText(file.size, output.size)}</strong>,
        ]}
      />
      <div class="row">
        <Button kind="primary" onClick={() => save(output.blob, output.outputFilename)}>
          Save
        </Button>
        <bdi class="ellipsis muted">{output.outputFilename}</bdi>
      </div>
      <div class="row nowrap digest">
        <span class="muted">SHA-256</span>
        <code class="ellipsis">{output.sha256}</code>
        <CopyButton text={output.sha256} label="SHA-256" />
      </div>
      {record.data && (
        <details>
          <summary>How it was made</summary>
          <Report data={record.data} />
        </details>
      )}
    </>
  );
}

function outputText({ outputFilename, width, height, size }: Output): string {
  return `${outputFilename} (${width} × ${height}, ${formatBytes(size)})`;
}

function Warnings({ result: { record } }: { readonly result: Result }) {
  if (!record.warnings) return null;
  return (
    <ul class="notice warn">
      {record.warnings.map(({ code, message }) => (
        <li key={code}>
          {message} <code>{code}</code>
        </li>
      ))}
    </ul>
  );
}

/** Characters of a value that are shown. All are copied. */
const MAX_SHOWN = 500;

/** The report of an image: a palette as swatches, everything else as a table. */
function Report({ data }: { readonly data: Readonly<Record<string, unknown>> }) {
  const colours = coloursOf(data);
  if (colours) return <Palette colours={colours} />;
  const facts = factsOf(data);
  const picture = facts.find(({ text }) => text.startsWith('data:image/'));
  return (
    <div class="stack">
      {picture && <img class="placeholder" src={picture.text} alt="Placeholder" />}
      <Table
        caption="What was found"
        rows={facts}
        keyOf={({ label }) => label}
        columns={[
          ['Property', ({ label }) => label],
          ['Value', FactValue],
          ['Copy', ({ label, text, isLong }) => isLong && <CopyButton text={text} label={label} />],
        ]}
      />
    </div>
  );
}

function FactValue({ text }: Fact) {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return (
    <bdi class="anywhere">
      {/^#[0-9a-f]{6}$/i.test(text) && <Swatch hex={text} />}
      {shown}
    </bdi>
  );
}

function Swatch({ hex }: { readonly hex: string }) {
  return <span class="colour" style={{ backgroundColor: hex }} />;
}

const NOTATIONS = [
  ['hex', 'Hex: #1d4e89'],
  ['rgb', 'RGB: rgb(29 78 137)'],
] as const;

function Palette({ colours }: { readonly colours: readonly Colour[] }) {
  const [notation, setNotation] = useState('hex');
  const textOf = ({ hex }: Colour) => (notation === 'hex' ? hex : rgbOf(hex));
  return (
    <div class="stack">
      <div class="framed shares">
        {colours.map(({ hex, proportion }) => (
          <span key={hex} style={{ backgroundColor: hex, flexGrow: proportion }} />
        ))}
      </div>
      <ul class="swatches" aria-label="Colours">
        {colours.map((colour) => (
          <li key={colour.hex} class="row">
            <Swatch hex={colour.hex} />
            <code>{textOf(colour)}</code>
            <span class="muted">{formatPercent(colour.proportion)}</span>
            <CopyButton text={textOf(colour)} label={textOf(colour)} />
          </li>
        ))}
      </ul>
      <div class="row bottom">
        <SelectField label="Values as" value={notation} choices={NOTATIONS} onValue={setNotation} />
        <CopyButton text={colours.map(textOf).join('\n')} label="all colours" />
      </div>
    </div>
  );
}
