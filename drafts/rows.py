import re,sys
W='OneOf(&["database_write"])'; R='OneOf(&["database_read", "database_write"])'
def one(s):
    s=s.strip()
    if s in('(nothing)',''): return 'Nothing'
    names=[x.strip() for x in re.split(r',| or ',s) if x.strip()]
    return 'OneOf(&['+', '.join(f'"{n}"' for n in names)+'])'
def rows(lines):
    out=[]
    for l in lines:
        l=l.strip()
        if not l or l.startswith('#') or l.startswith('('): continue
        m=re.match(r'(\w+)\s+(\S+)\s*\|\s*([^|]*)\|\s*(\w+)(.*)',l)
        if not m: print('??',l,file=sys.stderr); continue
        method,route,scope,cap,rest=m.groups()
        if method=='ANY': fn='any'
        else: fn=method.lower()
        if scope.strip().startswith(('checked','the same')): scope=''
        if '{ref}' in route: needs=f'OnProject(Capability::{cap})'
        elif '/branches/{id}' in route: needs=f'OnBranch(Capability::{cap})'
        else: needs='SignedIn' if cap=='SignedIn' else f'Somewhere(Capability::{cap})'
        sens='.sensitive()' if 'second factor' in rest else ''
        out.append(f'    {fn}("{route}", {one(scope)}, {needs}){sens},')
    return out
if __name__=='__main__':
    print("\n".join(rows(open(sys.argv[1]))))
