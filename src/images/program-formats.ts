/** Formats that an installed program decodes. */
export type ProgramFormat = 'heic' | 'jxl' | 'raw' | 'pdf';

/** Programs that a format needs, each by its possible names, and the packages that contain them. */
export interface Programs {
  readonly label: string;
  readonly programs: readonly (readonly string[])[];
  readonly packages: readonly [debian: string, fedora: string, macos: string];
}

/** How programs decode a format to a PNG or JPEG. Words of arguments are separated by spaces. */
interface Reader extends Programs {
  readonly extensions: readonly string[];
  readonly mediaType: string;
  /** Run of the second program, which prints width and height; null where libvips or the result has them. */
  readonly probe: string | null;
  /** Finds the sides in what the probe prints, in units of some pixels. */
  readonly sides?: RegExp;
  readonly scale?: number;
  /** Runs of the first program on the file `in`, which write files whose names begin with `out`, then on `result`. */
  readonly runs: readonly string[];
  /** Memory and microseconds for each pixel, or for each byte of a file whose sides are not known. */
  readonly cost: readonly [bytes: number, microseconds: number];
}

/** Pixels per inch of a page of PDF, whose sides are in points of 1/72 inch. */
const PAGE_DENSITY = 150;

/**
 * The formats. Programs see fixed names of files in a folder of their own, so that no name of a user can be an option.
 * Memory and time were measured with 12 megapixels: libheif 1.15, libjxl 0.7, poppler 22.12, ExifTool 12.57.
 */
export const READERS: Readonly<Record<ProgramFormat, Reader>> = {
  heic: {
    label: 'HEIC',
    extensions: ['heic', 'heif', 'hif'],
    mediaType: 'image/heic',
    programs: [['heif-dec', 'heif-convert']],
    packages: ['libheif-examples', 'libheif-tools libheif-freeworld', 'libheif'],
    probe: null,
    runs: ['--quiet in out.png'],
    cost: [16, 0.15],
  },
  jxl: {
    label: 'JPEG XL',
    extensions: ['jxl'],
    mediaType: 'image/jxl',
    programs: [['djxl'], ['jxlinfo']],
    packages: ['libjxl-tools', 'libjxl-utils', 'jpeg-xl'],
    probe: 'in',
    sides: /, (\d+)x(\d+),/,
    runs: ['--quiet --num_threads=1 in out.png'],
    cost: [30, 0.2],
  },
  raw: {
    label: 'camera raw',
    extensions: 'dng cr2 cr3 nef nrw arw sr2 orf rw2 raf pef x3f'.split(' '),
    mediaType: 'image/x-dcraw',
    programs: [['exiftool']],
    packages: ['libimage-exiftool-perl', 'perl-Image-ExifTool', 'exiftool'],
    probe: null,
    runs: [
      '-q -q -m -a -b -W out%-c-%t -JpgFromRaw -PreviewImage -OtherImage -ThumbnailImage in',
      '-q -q -m -overwrite_original -tagsfromfile in -exif:all -xmp:all -iptc:all result',
    ],
    cost: [8, 0.02],
  },
  pdf: {
    label: 'PDF',
    extensions: ['pdf'],
    mediaType: 'application/pdf',
    programs: [['pdftoppm'], ['pdfinfo']],
    packages: ['poppler-utils', 'poppler-utils', 'poppler'],
    probe: '-f 1 -l 1 in',
    sides: /^Page +(?:1 +)?size: +([\d.]+) x ([\d.]+) pts/m,
    scale: PAGE_DENSITY / 72,
    runs: [`-q -f 1 -l 1 -singlefile -cropbox -r ${PAGE_DENSITY} -png in out`],
    cost: [16, 0.3],
  },
};

/** The program that writes JPEG XL. */
export const JXL_WRITER: Programs = { ...READERS.jxl, programs: [['cjxl']] };

export function isProgramFormat(format: string | null): format is ProgramFormat {
  return format !== null && Object.hasOwn(READERS, format);
}

/** The program that compresses PNG by an optimal parse, for the highest effort. */
export const PNG_PACKER: Programs = {
  label: 'PNG',
  programs: [['zopflipng']],
  packages: ['zopfli', 'zopfli', 'zopfli'],
};
