import type { Language } from '../terms.ts';

export const ENGLISH: Language = {
  code: 'en',
  terms: {
    neutral:
      'children about sex, kids about sex, teens about sex, teenagers about sex, talk about sex, talking about sex, naked trunk*, naked twig*, naked hill*, naked mountain*, naked cliff*, naked field*, naked earth, naked ground, naked sky, naked iron, ' +
      'shot a, shot as, an us, an al, pen is, pub is, ' +
      'with their young, and their young, its young, naked chrome, naked metal, naked iron, naked brick*, naked concrete, naked bike*, naked motorcycle*, naked motorbike*, naked engine*, naked floor*, naked wall*, naked stone*, naked hairless cat*, hairless and naked, naked sphynx, naked cat*, naked chicken*, ' +
      'naked mole rat*, naked mole*, naked eye*, naked flame*, naked light*, naked bulb*, ' +
      'naked tree*, naked branch*, naked truth, naked wire*, naked cake*, naked soil, ' +
      'naked rock*, naked wood, naked beam*, naked rafter*, naked plaster*, naked pasta, naked curiosity, naked greed, naked fear, naked power, naked force, naked aggression, naked oat*, naked barley, naked lunch, naked juice, ' +
      'naked gun, naked ambition, naked raku, naked neck, naked steel, naked blade*, ' +
      'naked sword*, nude colou*, nude tone*, nude shade*, nude lip*, nude heel*, ' +
      'nude pump*, nude shoe*, nude sandal*, nude nail*, nude polish, nude make*, ' +
      'nude palette*, nude eye*, nude tight*, nude stocking*, nude leotard*, nude ballet*, ' +
      'nude pointe*, nude beige, nude pink, nude manicure, nude blush, nude gloss, ' +
      'nude silk, nude satin, nude chiffon, nude tulle, nude organza, nude georgette, nude velvet, nude linen, nude cashmere, nude knit*, nude leather, nude suede, nude handbag*, nude bag*, nude hue*, ' +
      'nude and beige, nude slipper*, nude clutch, nude matte, in nude and, nude to brown, ' +
      'bare feet, bare foot, bare handed, bare hand*, bare arm*, bare leg*, bare head*, ' +
      'bare shoulder*, bare knee*, bare toe*, bare tree*, bare branch*, bare wall*, ' +
      'bare floor*, bare bone*, bare minimum, bare root*, bare ground, bare earth, ' +
      'bare rock*, bare hill*, bare wood*, bare twig*, bare concrete, bare metal, bare soil, ' +
      'bare bulb*, bare face*, bare neck, bare land*, bare table*, bare necessities, ' +
      'exposed brick*, exposed beam*, exposed pipe*, exposed concrete, exposed wood*, ' +
      'exposed rock*, exposed root*, exposed film, exposed wire*, exposed wiring, ' +
      'exposed stone*, double exposed, double exposure, exposed duct*, exposed seam*, ' +
      'exposed zip*, exposed to, exposed hinge*, chicken breast*, turkey breast*, ' +
      'duck breast*, goose breast*, breast of chicken, breast of turkey, breast of duck, ' +
      'breast pocket*, breast stroke*, breaststroke*, breastplate*, breast cancer, ' +
      'breast feeding, breast feed*, breastfeed*, breastfed, breast milk, breast pump*, ' +
      'breast screening, breast health, breasted, single breasted, double breasted, ' +
      'robin redbreast, red breast*, breast pin, breast badge, chest of drawers, ' +
      'treasure chest*, chest freezer, hope chest*, medicine chest*, ice chest, tool chest*, ' +
      'tea chest*, war chest, toy chest*, chest x ray*, chest pain, wooden chest*, ' +
      'pirate chest*, chest pass, chest pocket*, chest number*, chest high, chest deep, ' +
      'chest wader*, sea chest*, linen chest*, blanket chest*, chest cold, chest infection, ' +
      'chest press, iron chest*, chest full of, chest filled, loot chest*, bottom of the, ' +
      'bottom of a, bottom left, bottom right, bottom line, bottom shelf, bottom half, ' +
      'bottom edge, bottom corner, bottom row, bottom step*, bottom third, bottom drawer, ' +
      'bottom view, at the bottom, the bottom of, at bottom, bell bottom*, rock bottom, ' +
      'bottom of page, bottom border, false bottom, from the bottom, on the bottom, ' +
      'foggy bottom, bottom text, kid gloves, kid glove, kid leather, kid goat*, goat kid*, ' +
      'billy the kid, cisco kid, karate kid, kid rock, kid skin, kidskin, minor chord*, ' +
      'minor key*, minor scale*, a minor scale*, a minor chord*, in a minor, minor detail*, ' +
      'minor league*, asia minor, ursa minor, canis minor, a minor detail*, a minor injur*, ' +
      'a minor role*, a minor character*, a minor repair*, a minor scratch*, ' +
      'a minor change*, a minor key*, a minor road*, a minor planet*, a minor accident*, ' +
      'a minor third*, a minor adjustment*, a minor flaw*, a minor crack*, a minor league*, ' +
      'a minor miracle, a minor celebrity, a minor deity, a minor god*, a minor noble*, ' +
      'a minor issue*, a minor improvement*, baby blue, baby pink, baby carrot*, ' +
      'baby grand*, baby breath, baby s breath, baby corn, baby spinach, baby potato*, ' +
      'baby elephant*, baby panda*, baby bird*, baby goat*, baby fox*, baby dragon*, ' +
      'baby seal*, baby turtle*, baby rabbit*, baby animals, baby bear*, baby monkey*, ' +
      'baby rhino*, baby hippo*, baby boomer*, baby shark, baby yoda, baby back ribs, ' +
      'child s pose, child pose, destiny s child, child theme, child process*, child node*, ' +
      'inner child, child free, childfree, boys night*, boys club, girls night*, girl boss, ' +
      'girl friday, girl power, old boy*, beach boys, pet shop boys, backstreet boys, ' +
      'spice girls, golden girls, gilmore girls, powder girl, boy band*, bell boy*, ' +
      'poster boy, teenage mutant ninja turtle*, teenage mutant turtle*, teenage mutant, ' +
      'teen titans, sex education, sex ed, sexual education, sexuality education, ' +
      'sexual health, sexual reproduction, sexual orientation, same sex, opposite sex, ' +
      'both sexes, sex reveal, sex ratio, sex chromosome*, sex pistols, sex and the city, ' +
      'sex of the baby, baby s sex, biological sex, fair sex, sexual dimorphism, ' +
      'sexual selection, sex discrimination, sex equality, either sex, sex linked, ' +
      'sex determination, stop child sexual abuse, against child sexual abuse, ' +
      'against sexual abuse, against sexual exploitation, against child sexual exploitation, ' +
      'prevent child sexual abuse, prevent sexual abuse, prevention of sexual abuse, ' +
      'sexual abuse prevention, sexual abuse awareness, against sexual violence, ' +
      'against child pornography, stop child pornography, against sexual harassment, ' +
      'blue tit*, great tit*, coal tit*, marsh tit*, willow tit*, long tailed tit*, ' +
      'crested tit*, titmouse, blue footed boob*, booby trap*, booby prize, pussy willow*, ' +
      'pussy cat*, pussycat*, puss in boots, pussy riot, wild ass*, water butt*, ' +
      'butt joint*, butt of, cigarette butt*, pork butt*, head butt*, scuttlebutt, ' +
      'butt weld*, bum bag*, see through glass, see through the, see through a, ' +
      'see through window*, see through plastic, see through lid, see through box*, ' +
      'see through umbrella*, see through raincoat*, see through wings, see through bag*, ' +
      'close up of the face, close up portrait*, thong sandal*, bra strap free, ' +
      'captain underpants, long underwear, thermal underwear, underwear on a line, ' +
      'underwear drawer, underwear shop, lingerie shop*, lingerie store*, ' +
      'lingerie department, lingerie boutique*, adult supervision, adult education, ' +
      'adult learner*, hot chocolate, hot air, stripped down, chicken thigh*, ' +
      'thigh high boot*, turkey thigh*, thigh bone*, thigh muscle*, thigh press, ' +
      'bottle nipple*, grease nipple*, pipe nipple*, penis bone, naked chef, ' +
      'barenaked ladies, nude mouse, nude mice, groin vault*, groin pull, groin injury, ' +
      'crotchet*',
    minor:
      'child, childs, children, childrens, kid, kids, kiddie*, kiddo*, toddler*, infant, infants, preschooler*, ' +
      'kindergartener*, kindergartner*, kindergarten*, schoolgirl*, schoolboy*, ' +
      'school girl*, school boy*, schoolchild*, school child*, schoolkid*, school kid*, ' +
      'preteen*, pre teen*, tween, tweens, underage*, under age, minors, a minor, pubescent, pubescents, ' +
      'prepubescent, pre pubescent, juvenile girl*, juvenile boy*, little girl*, ' +
      'little boy*, small girl*, small boy*, loli, lolis, lolicon*, shota, shotas, ' +
      'shotacon*, jailbait, jailbaits, grade schooler*, middle schooler*, high schooler*, ' +
      'first grader*, second grader*, third grader*, fourth grader*, fifth grader*, ' +
      'sixth grader*, seventh grader*, eighth grader*, ninth grader*, tenth grader*, ' +
      '1st grader*, 2nd grader*, 3rd grader*, 4th grader*, 5th grader*, 6th grader*, ' +
      '7th grader*, 8th grader*, 9th grader*, 10th grader*, 11th grader*, ' +
      'elementary school*, primary school*, middle school*, junior high*, childlike girl, ' +
      'under 18, under eighteen, younger than 18, below 18, sweet sixteen, ' +
      'sixteenth birthday, 16th birthday, 15th birthday, 14th birthday, 13th birthday, ' +
      '12th birthday, 10th birthday, 👧, 👦, 👶, 🧒, kiddies, grandkid*, stepchild*, stepkid*, ' +
      'kidz, little sister*, little brother*, little daughter, little son, little one*, ' +
      'little ones',
    youth:
      'girl, girls, boy, boys, teen, teens, teenage*, teenager*, adolescent*, youngster*, ' +
      'baby, babies, newborn*, daughter*, granddaughter*, grandson*, grandchild*, niece*, ' +
      'nephew*, stepdaughter*, stepson*, youths, youth, lass, lassie, barely legal, ' +
      'high school*, girly, son, sons, younger sister*, younger brother*, pupil, pupils, ' +
      'girlie*, boi',
    girl: 'girl*, schoolgirl*, daughter*, niece*, granddaughter*, she, her, sister*, female*',
    grown:
      'adult, adults only, grown up, grown, over 18, over eighteen, 18+, 21+, legal age, ' +
      'of age, twenties, thirties, forties, fifties, sixties, seventies, eighties, 20s, 30s, ' +
      '40s, 50s, 60s, 70s, middle aged, elderly',
    young: 'young, younger, youngest, very young, youthful',
    adult:
      'woman, women, man, men, lady, ladies, gentleman, gentlemen, adult, adults, couple, ' +
      'couples, mother*, father, fathers, mom, moms, mum, mums, dad, dads, parent, parents, ' +
      'bride, groom, husband, wife, wives, teacher, teachers, artist, artists, actress*, ' +
      'actor*, professional*, model, models, nurse*, doctor*, soldier*, king, queen, ' +
      'grandmother*, grandfather*, grandma, grandpa, aunt, uncle, chef, painter*, musician*, ' +
      'singer*, bodybuilder*, warrior*, businesswoman, businessman, goddess*, god, gods, ' +
      'milf, entrepreneur*, farmer*, student artist*, scientist*, engineer*, fighter*, ' +
      'designer*, author*, knight*',
    thing:
      'whisky, whiskey, scotch, wine, wines, rum, cheese, cat, cats, dog, dogs, horse, ' +
      'horses, mare, tree, trees, oak, olive tree, house, building, car, bottle, sphynx, ' +
      'rat, rats, mole, puppy, kitten, plant, plants, leaves, branches, birch, animal, ' +
      'animals, cow, lion, elephant, tortoise, turtle, bonsai, company, tradition, wheat, ' +
      'grass, moon, lions, goat, goats, bird, birds, shoots, vines, vine, stallion, wood, ' +
      'forest, chimp*, gorilla*, orangutan*, macaque*, macaques, monkey*',
    pronoun:
      'she, her, hers, herself, he, him, his, himself, they, them, their, theirs, ' +
      'themselves, one of them, the same',
    private:
      'genital*, genitals, genitalia, penis*, vagina, vaginas, vaginal, vulva*, pussy, ' +
      'pussies, clitoris, labia, scrotum, testicle*, testicles, anus, private part*, ' +
      'private parts, pubic, pubes, intimate parts, crotch shot, phallus',
    area:
      'breast, breasts, boob, boobs, boobies, tits, titties, nipple, nipples, areola*, ' +
      'cleavage, buttock*, buttocks, butt, butts, ass, asses, groin, crotch, thigh, thighs, ' +
      'bosom, bust line, bulge, panties, panty, cameltoe, camel toe, booty, backside, ' +
      'rear end, derriere, rump',
    soft:
      'chest, chests, bottom, bottoms, bum, bums, hips, torso, bra, bras, ' +
      'underwear, underpants, thong, thongs, g string, knickers, briefs, ' +
      'upper body, lower body',
    exposure:
      'bare, bared, baring, exposed, exposing, exposes, expose, uncovered, uncovering, ' +
      'unclothed, unclad, naked, nude, revealing, reveals, revealed, see through, sheer, ' +
      'transparent, undone, unbuttoned, spread, low cut, pulled down, pulled up, lifted, ' +
      'flashing, bursting out, spilling out, half naked, half exposed',
    emphasis:
      'close up, closeup, closeups, close ups, close shot, zoom on, zoomed, zoom in, ' +
      'focus on, focused on, focusing on, focus, emphasis on, emphasi*, accentuat*, ' +
      'highlight*, detailed, big, huge, large, enormous, curvy, plump, round, voluptuous, ' +
      'perky, tight, prominent, oversized, showing, shows, showing off, display*, jiggl*, ' +
      'bouncing, swelling, swollen, sweaty, wet, oiled, developing, budding, ' +
      'seen from below, visible, grabbing, touching, groping, fondl*, squeezing, full, sexy',
    nudity:
      'naked, nude, nudes, nudity, nudist*, nudism, naturist*, undressed, undressing, ' +
      'unclothed, unclad, topless, bottomless, disrobed, disrobing, skinny dip*, ' +
      'in the buff, birthday suit, without clothes, without any clothes, without clothing, ' +
      'no clothes, no clothing, without a top, no top, no shirt and no, no pants, ' +
      'no panties, no underwear, without underwear, without panties, without pants, ' +
      'wearing nothing, nothing on, not wearing any clothes, not wearing clothes, ' +
      'not wearing any, not wearing anything, not wearing underwear, clothes off, no bra, ' +
      'braless, bare chested girl*, shirtless girl*, bare breast*, bare breasted, ' +
      'bare bottom*, bare butt*, bare ass*, barely dressed, barely clothed, scantily, ' +
      'half dressed, half naked, half nude, semi nude, semi naked, seminude, seminaked, ' +
      'clothing none, in the nude, in the altogether, fully exposed, au naturel, ' +
      'stripped naked, nip slip, bare skin only, clothed in nothing, birthday suits, ' +
      'takes off all, taking off all, removes all, removing all clothes',
    suggestive:
      'exposed skin, skin exposed, lots of skin, much skin, showing skin, more skin, ' +
      'sexy, sexily, seductive*, seducing, seduce*, sensual*, erotic*, provocative*, lewd*, ' +
      'lascivious*, lusty, lustful*, fetish*, bdsm, bondage, kinky, kink, striptease*, ' +
      'stripper*, stripping, upskirt*, up skirt, downblouse, lingerie, g string, ' +
      'micro bikini*, thong bikini*, string bikini*, see through dress*, see through cloth*, ' +
      'see through shirt*, see through blouse*, see through top*, see through nightgown*, ' +
      'see through swimsuit*, see through underwear, transparent dress*, transparent cloth*, ' +
      'skimpy, skimpily, revealing cloth*, revealing outfit*, revealing dress*, ' +
      'revealing swimsuit*, revealing costume*, revealing bikini*, lifting her skirt, ' +
      'lifting skirt, lifts her skirt, skirt lifted, lifted skirt, in underwear, ' +
      'in her underwear, in his underwear, in only underwear, only underwear, in panties, ' +
      'in her panties, wearing panties, wearing only panties, just panties, wearing only a, ' +
      'only wearing a thong, nsfw, xxx, x rated, playboy style, ecchi, ahegao, orgasmic, ' +
      'aroused, arousing, arousal, horny, dominatrix, legs spread, spread legs, ' +
      'spreading legs, spreading her legs, spread eagle*, bent over provocatively, ' +
      'wet t shirt contest, sultry, voyeur*, intimate pose*, intimate position*, ' +
      'bedroom eyes, virginity, sexualiz*, sexualis*, hot and naked, adult content, ' +
      'lap dance*, pole dance*, softcore, nymphet*, lolita',
    sexual:
      'sex, sexual*, porn*, hentai, intercourse, orgasm*, masturbat*, blowjob*, blow job*, ' +
      'handjob*, fellatio, cunnilingus, ejaculat*, cum, cumming, semen, fuck*, coitus, ' +
      'copulat*, penetrated, anal, oral sex, deepthroat*, gangbang*, threesome*, rape, ' +
      'raped, raping, rapes, rapist*, molest*, incest*, bestiality, pedoph*, paedoph*, ' +
      'prostitut*, brothel*, hooker*, dildo*, making love, make love, foreplay, erection*, ' +
      'erect penis, creampie, bukkake, futa, futanari, rule34, rule 34, hardcore porn, ' +
      'xxx porn, sextape*, sex tape*, onlyfans',
    negation:
      'no, not, without, non, never, nothing, neither, nor, free of, free from, avoid, ' +
      'avoids, avoiding, exclude*, excluding, don t, do not, must not, should not, isn t, ' +
      'aren t, zero, absolutely no, negative prompt, neg, not show, not showing, ' +
      'not contain*',
    absence: 'free, prohibited, not allowed, forbidden',
    filler:
      'any, a, an, the, kind, kinds, type, sort, form, forms, of, explicit, visible, full, ' +
      'partial, content, contents, element*, theme*, suggestive, inappropriate, at all, and, ' +
      'poses, pose, material, imagery, depiction*, depicting, show, showing, include, ' +
      'including, contain, be, is, are, s, clothing, gore, violence, violent, scenes, ' +
      'outfit*, clothes, t',
    either: 'or, nor, and no, and',
    medical:
      'doctor, doctors, pediatric*, paediatric*, stethoscope*, hospital*, clinic, clinical, ' +
      'surgeon*, surgery, surgical, x ray, xray, ultrasound*, ecg, ekg, anatomy, anatomical, ' +
      'medical, vaccine*, vaccination*, nurse, nurses, cpr, first aid, dermatolog*, eczema, ' +
      'rash, injection*, physical therap*, physiotherap*, patient, patients, bandage*, ' +
      'cast on, defibrillator*, heart surgery, scar, asthma, heart monitor, electrodes',
    care:
      'breastfeed*, breast feeding, breastfed, nursing her, nursing a, nursing mother*, ' +
      'nurses her, lactation, diaper*, nappy, nappies, changing table, baby care, potty, ' +
      'skin to skin, kangaroo care, breastfeeding, nursing, baby carrier, tummy time, ' +
      'seat belt, car seat, life jacket, life vest, swaddle*',
    newborn: 'newborn*, infant*, new born, baby, preemie*, neonat*',
    birth:
      'birth, childbirth, skin to skin, delivery room, midwife*, midwives, born, ' +
      'kangaroo care, umbilical cord, umbilical, incubator, neonatal',
    art:
      'statue*, sculptor*, clay, sculpture*, sculpted, marble, bronze, fresco*, relief, painting, paintings, ' +
      'painted, oil on canvas, museum, figurine*, mannequin*, renaissance, baroque, cherub*, ' +
      'putti, putto, cupid*, venus, aphrodite, rodin, michelangelo, life drawing, ' +
      'figure drawing, botticelli, titian, rubens, torso of belvedere, classical, ' +
      'charcoal study, art class',
    lesson:
      'diagram*, textbook*, poster, chart, infographic*, biology, lesson, anatomical model, ' +
      'puberty',
    activity:
      'sumo, tribal, warriors, festival, swim, swims, swimming, swimmer*, swimsuit*, swimwear, swim trunks, swim shorts, pool, ' +
      'pools, beach, beaches, seaside, sea, lake, river, surf*, sprinkler*, water, ' +
      'waterslide, paddling, snorkel*, diving, dive, bath, bathtub, aquarium, creek, ' +
      'splash*, wrestling, wrestler*, boxing, sumo, ballet, gymnast*, gymnastics, athletics, ' +
      'yoga, karate, judo, football, soccer, basketball, school, uniform, costume',
    apart:
      'and, while, whereas, beside, besides, near, next, behind, before, when, where, but, ' +
      'then, by, in front of, under, looking, look, looks, sketch*, draw*, walk*, visit*, ' +
      'with a, watch*, alongside, past, around, for, admired',
    violence:
      'murder*, kill, killing, killed, massacre*, behead*, stab, stabbed, stabbing, ' +
      'strangl*, torture*, shooting people, execution of, bloodshed, lynch*',
    gore: 'gore, gory, dismember*, disembowel*, mutilat*, entrails, decapitat*, eviscerat*',
    'self-harm':
      'suicide, suicidal, self harm*, kill myself, kill herself, kill himself, hang myself, ' +
      'cutting myself, end my life, hurt myself',
    hate: 'subhuman*, racial purity, white power, ethnic cleansing, master race, gas the',
    harassment:
      'you are worthless, you idiot, you moron, shut up you, kill yourself, ' +
      'nobody likes you, i will hurt you, stalk her, stalk him',
    illicit:
      'build a bomb, make a bomb, cook meth, make meth, buy cocaine, hire a hitman, ' +
      'counterfeit money, pipe bomb',
  },
};
